"""The projections: documents, index work and domain events."""
