"""Memories of other stores as lines of our own format, which `unsay import` takes.

>>> from pathlib import Path
>>> from unsay.importers import converted
>>> report = converted("mem0", Path("mem0.json"), Path("alice.jsonl"))

Each line has an id that follows from the record's own, or from what it says: what is converted and imported
again is there already.
"""

from unsay.importers.lines import Report, converted, line_of
from unsay.importers.sources import SOURCES, Foreign, SourceError

__all__ = ["SOURCES", "Foreign", "Report", "SourceError", "converted", "line_of"]
