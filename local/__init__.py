"""The local cloud: the AWS services the stack needs, in one process on loopback, IAM enforced."""
