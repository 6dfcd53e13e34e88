"""The λs: handlers translate — parse, call one use case, render — and nothing else."""

import gc

# What modules are made of stays. Looking for garbage in it every 700 objects, as is the rule, takes a tenth
# of a cold start; and a request leaves next to none behind.
gc.set_threshold(100_000)
