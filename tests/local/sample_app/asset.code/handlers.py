"""The functions of the sample app: each shows one thing the local cloud has to do as Lambda does."""

import json
import os
import sys
import time

CALLS = {"authorizer": 0, "api": 0}


def authorizer(event, context):
    """Lets `Bearer good` in and counts how often it was asked."""
    CALLS["authorizer"] += 1
    token = event["headers"].get("authorization")
    return {"isAuthorized": token.startswith("Bearer good"), "context": {"asked": str(CALLS["authorizer"])}}


def api(event, context):
    """Answers by path."""
    CALLS["api"] += 1
    action = event["rawPath"].rpartition("/")[2]
    if action == "crash":
        raise RuntimeError("a secret detail")
    if action == "exit":
        os._exit(3)
    if action == "slow":
        time.sleep(30)
    if action == "environment":
        return answer(
            {"variables": dict(os.environ), "modules": importable("jmespath", "numpy", "sample_dependency")}
        )
    if action == "memory":
        return answer({"calls": CALLS["api"], "pid": os.getpid()})
    return answer({"event": event, "remaining": context.get_remaining_time_in_millis()})


def answer(value):
    return {"statusCode": 200, "body": json.dumps(value)}


def importable(*names):
    found = {}
    for name in names:
        try:
            __import__(name)
            found[name] = True
        except ImportError:
            found[name] = False
    return found


def stream(event, context):
    """Prints the keys it is given, and fails a record, or the batch, whose key says so."""
    keys = [record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"]]
    print(json.dumps({"batch": keys}), flush=True)
    if any(key.startswith("explode") for key in keys):
        raise RuntimeError("the whole batch fails")
    failed = [
        record["dynamodb"]["SequenceNumber"]
        for record, key in zip(event["Records"], keys, strict=True)
        if key.startswith("poison")
    ]
    return {"batchItemFailures": [{"itemIdentifier": failed[0]}] if failed else []}


def queue(event, context):
    """Prints what it is given; `slow` takes a while, `poison` is handed back."""
    failures = []
    for record in event["Records"]:
        group = record["attributes"]["MessageGroupId"]
        attempt = int(record["attributes"]["ApproximateReceiveCount"])
        print(json.dumps({"group": group, "body": record["body"], "attempt": attempt}), flush=True)
        if record["body"] == "slow":
            time.sleep(0.5)
        if record["body"] == "poison":
            failures.append({"itemIdentifier": record["messageId"]})
    sys.stdout.flush()
    return {"batchItemFailures": failures}
