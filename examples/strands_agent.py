"""A Strands agent that remembers, and forgets when it is asked to. Its model follows a script."""

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models.model import Model

import unsay
from unsay.strands import UnsayMemoryStore, injection_format

SCOPE = "acme/users/alice"


class Script(Model):
    """Says its lines one after the other; a line that is a pair calls a tool."""

    def __init__(self, *lines: Any) -> None:
        self.lines = list(lines)

    def get_config(self) -> dict:
        return {}

    def update_config(self, **_: Any) -> None:
        pass

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        line = self.lines.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(line, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": line}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "1", "name": line[0]}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(line[1])}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(line, str) else "tool_use"}}


def agent_with(memory: unsay.Memory, *lines: Any) -> Agent:
    store = UnsayMemoryStore(memory, scope=SCOPE, name="alice", deadline_seconds=30.0)
    manager = MemoryManager(stores=[store], injection={"format": injection_format}, add_tool_config=True)
    return Agent(model=Script(*lines), memory_manager=manager, callback_handler=None)


def main() -> None:
    with unsay.connect("memory://") as memory:
        add = ("add_memory", {"entries": ["Alice lives in Lisbon."]})
        print(agent_with(memory, add, "Noted.")("I live in Lisbon."))
        (home,) = memory.list(scope=SCOPE).items
        print(f"remembered: {home.content}")
        forget = ("forget_in_alice", {"memory_id": home.id})
        print(agent_with(memory, forget, "Forgotten.")("Forget where I live."))
        print(f"left: {len(memory.list(scope=SCOPE).items)}")
        again = agent_with(memory, add, "I may not keep that.")
        print(again("I live in Lisbon."))
        print(f"still left: {len(memory.list(scope=SCOPE).items)}")


if __name__ == "__main__":
    main()
