"""The index worker."""
