"""The use cases, one file per verb, and the ports they need."""
