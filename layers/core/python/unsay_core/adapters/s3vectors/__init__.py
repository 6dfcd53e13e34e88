"""S3 Vectors without a knowledge base: an index for each root, and our own calls of the embedding model."""
