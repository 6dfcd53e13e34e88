"""What has come due."""
