"""One scope of a caller, as an MCP server."""
