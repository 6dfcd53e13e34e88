"""The core of unsay: domain, use cases, adapters. Shared by the λs, the client and the local cloud."""
