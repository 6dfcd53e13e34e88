"""Conversations become memories."""
