"""A Strands model that says what it is told to, and remembers what it was asked."""

import json

from strands.models.model import Model


def uses(name, **given):
    """A reply that calls a tool."""
    return (name, given)


class Scripted(Model):
    """Replies in order: a text, or `uses(…)`; "All right." when they are at an end."""

    def __init__(self, *replies):
        self.replies, self.asked, self.offered = [*replies], [], []

    def get_config(self):
        return {}

    def update_config(self, **_):
        pass

    async def structured_output(self, *_, **__):
        raise NotImplementedError
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        self.asked.append(json.loads(json.dumps(messages)))
        self.offered.append({spec["name"] for spec in tool_specs or []})
        reply = self.replies.pop(0) if self.replies else "All right."
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(reply, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": reply}}}
        else:
            name, given = reply
            use = {"toolUseId": f"use-{len(self.asked)}", "name": name}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(given)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(reply, str) else "tool_use"}}

    @property
    def tools(self):
        """The names of the tools that it was asked with last."""
        return self.offered[-1] if self.offered else set()

    @property
    def last_told(self):
        """The text of the last message it was asked with, injected memories and tool results included."""
        return json.dumps(self.asked[-1][-1]["content"], ensure_ascii=False)
