"""The rules of jobs: work that outlasts a request, erasures first. Pure, on the domain's own values."""
