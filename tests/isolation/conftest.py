"""Scopes side by side: the real service over a cloud in this process."""

from __future__ import annotations

import os

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "unsay")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
