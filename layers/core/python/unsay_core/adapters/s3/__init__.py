"""Documents on S3."""
