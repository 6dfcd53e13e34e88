"""The wire: what the HTTP API accepts and answers, shared by handlers and clients."""
