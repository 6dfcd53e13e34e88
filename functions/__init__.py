"""The λs: handlers translate — parse, call one use case, render — and nothing else."""
