"""Extraction's rules: conversations, their batches, and what of them may become a memory. Pure."""
