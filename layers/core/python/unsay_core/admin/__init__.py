"""What whoever deployed the stack does with AWS credentials, beside the API."""
