"""The command line: `unsay remember "Alice lives in Lisbon." --scope acme/users/alice`."""

from unsay.cli.app import app, main

__all__ = ["app", "main"]
