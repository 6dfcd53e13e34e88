"""The ledger on DynamoDB."""
