"""The Bedrock knowledge base."""
