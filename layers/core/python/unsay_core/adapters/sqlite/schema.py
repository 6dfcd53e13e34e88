"""The tables of a ledger file, and how an older file becomes a current one."""

from __future__ import annotations

import re
import sqlite3

APPLICATION_ID = 0x556E5361  # "UnSa": what tells our file from any other SQLite file

_ADDED = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+)")

# Step n takes a file from version n to n + 1. A released step is never edited; a change is a new step.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE entry (
            scope TEXT NOT NULL,
            area TEXT NOT NULL,
            id TEXT NOT NULL,
            record TEXT NOT NULL,
            PRIMARY KEY (scope, area, id)
        ) WITHOUT ROWID
        """,
    ),
    (
        # What work is owed, in whichever scope.
        "CREATE INDEX owed ON entry (area, scope, id) WHERE area IN ('P', 'Q', 'J')",
        # What lies outside of any scope: keys, policies, names.
        """
        CREATE TABLE kept (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (kind, name)
        ) WITHOUT ROWID
        """,
        # A memory that is indexed and has no vector yet has NULL: nobody could make one.
        """
        CREATE TABLE vector (
            scope TEXT NOT NULL,
            id TEXT NOT NULL,
            live INTEGER NOT NULL,
            kind TEXT NOT NULL,
            embedder TEXT NOT NULL,
            vector BLOB,
            PRIMARY KEY (scope, id)
        )
        """,
        "CREATE INDEX unembedded ON vector (scope, id) WHERE vector IS NULL",
    ),
    (
        # When an entry has to be looked at again; jobs are found by that. Some files of version 2 have it.
        "ALTER TABLE entry ADD COLUMN due TEXT",
        "CREATE INDEX IF NOT EXISTS due ON entry (area, due) WHERE due IS NOT NULL",
        "DROP INDEX owed",
        "CREATE INDEX owed ON entry (area, scope, id) WHERE area IN ('P', 'Q')",
    ),
)


class ForeignFileError(Exception):
    """Not a ledger of ours, or one that a newer release has written."""


class DamagedFileError(Exception):
    """A ledger of ours that lacks a part, or has a page that is none."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file to the current version, whoever else is opening it.

    Raises `ForeignFileError` and leaves the file as it is.
    """
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _climb(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _climb(connection: sqlite3.Connection) -> None:
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise ForeignFileError(f"a newer release has written this ledger: version {version}")
    for step in MIGRATIONS[version:]:
        for statement in step:
            if not _has_column(connection, statement):
                connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _has_column(connection: sqlite3.Connection, statement: str) -> bool:
    """True for a column that is there already: SQLite has no `ADD COLUMN IF NOT EXISTS`."""
    added = _ADDED.match(statement)
    columns = connection.execute("SELECT name FROM pragma_table_info(?)", (added[1],)) if added else ()
    return added is not None and (added[2],) in columns


def _version(connection: sqlite3.Connection) -> int:
    """The version of a ledger's tables, 0 in an empty file.

    One statement reads it all: between two of them another process could make the tables.
    """
    application_id, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application_id != APPLICATION_ID and (application_id or tables):
        raise ForeignFileError("this SQLite file is not a ledger")
    return int(version)
