"""Examples that hypothesis thinks up may take what time they take: machines are busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unsay", deadline=None)
settings.load_profile("unsay")
