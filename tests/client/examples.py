"""One question of each verb."""

import inspect

from unsay import verbs

ID = "the-id"
HERE = {"scope": "acme/alice"}
SEEN = {**HERE, "version": 3}
VERBS = {
    name: verb
    for name, verb in inspect.getmembers(verbs, inspect.isfunction)
    if verb.__module__ == verbs.__name__ and not name.startswith("_")
}
EXAMPLES = {
    "remember": verbs.remember("Alice lives in Lisbon.", **HERE),
    "remember_batch": verbs.remember_batch([{"content": "Alice lives in Lisbon."}], **HERE),
    "recall": verbs.recall("Where does Alice live?", **HERE),
    "get": verbs.get(ID, **HERE),
    "list": verbs.list(**HERE),
    "history": verbs.history(ID, **HERE),
    "edit": verbs.edit(ID, **SEEN, tags=["home"]),
    "correct": verbs.correct(ID, "Alice lives in Porto.", because="changed", **SEEN),
    "retract": verbs.retract(ID, reason="incorrect", **SEEN),
    "dispute": verbs.dispute(ID, reason="incorrect", **SEEN),
    "forget": verbs.forget(ID, reason="user_request", **HERE),
    "forget_all": verbs.forget_all(ids=[f"mem_{0:026d}"], reason="user_request", **HERE),
    "would_forget": verbs.would_forget(run_id="chat", **HERE),
    "prune": verbs.prune(**HERE),
    "erasure": verbs.erasure(ID, **HERE),
    "erasures": verbs.erasures(**HERE),
    "export": verbs.export(**HERE),
    "bring": verbs.bring([{"memory": {}}], **HERE),
    "start_import": verbs.start_import(ID, **HERE),
    "consolidate": verbs.consolidate(**HERE),
    "job": verbs.job(ID, **HERE),
    "reviews": verbs.reviews(**HERE),
    "approve": verbs.approve(ID, **SEEN),
    "reject": verbs.reject(ID, reason="incorrect", **SEEN),
    "tombstones": verbs.tombstones(**HERE),
    "lift_tombstone": verbs.lift_tombstone(ID, reason="user_request", **HERE),
    "audit": verbs.audit(**HERE),
    "verify_audit": verbs.verify_audit(**HERE),
    "converse": verbs.converse(ID, [{"seq": 1, "role": "user", "content": "I live in Lisbon."}], **HERE),
    "flush": verbs.flush(ID, **HERE),
    "retry": verbs.retry(ID, **HERE),
    "upload": verbs.upload(ID, **HERE),
    "conversations": verbs.conversations(**HERE),
    "conversation": verbs.conversation(ID, **HERE),
    "policy": verbs.policy(scope="acme"),
    "set_policy": verbs.set_policy(scope="acme", extraction="review"),
    "statistics": verbs.statistics(**HERE),
    "scopes": verbs.scopes(prefix="acme"),
    "make_key": verbs.make_key("shop", kind="agent", grants={"acme/*": ["read"]}),
    "keys": verbs.keys(),
    "revoke_key": verbs.revoke_key(ID),
    "delegate": verbs.delegate(["read"], ttl_seconds=600, **HERE),
}


def path_of(operation):
    """An operation's path under `/v1`, with the id of the examples in it."""
    return tuple(ID if part.startswith("{") else part for part in operation.path.split("/")[2:])
