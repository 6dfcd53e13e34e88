"""Retrieval's rules: what of a scope answers a question, and how well. Pure, on the domain's own values."""
