"""A hundred writers of one scope at once: a hundred entries, one chain."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.model.conftest import service_on
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.adapters.world import SystemClock

SCOPE = "acme/alice"
ROOT = Path(__file__).resolve().parents[2]


def service_in(file: LedgerFile) -> FakeService:
    """The whole service on a file, in real time."""
    service = service_on(lambda scope_id: SqliteLedger(file, scope_id))
    return service
