"""The authorizer of the HTTP API."""
