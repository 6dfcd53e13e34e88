"""The ledger of many scopes in one SQLite file, on the standard library alone."""

from unsay_core.adapters.sqlite.file import LedgerFile
from unsay_core.adapters.sqlite.in_memory import InMemoryFile
from unsay_core.adapters.sqlite.ledger import SqliteLedger

__all__ = ["InMemoryFile", "LedgerFile", "SqliteLedger"]
