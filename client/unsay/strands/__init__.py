"""Memory stores for Strands agents, each in one scope.

>>> from strands import Agent
>>> from strands.memory import MemoryManager
>>> from unsay.strands import UnsayMemoryStore, injection_format
>>> store = UnsayMemoryStore(memory, scope="acme/users/alice", name="alice", extraction=True)
>>> manager = MemoryManager(stores=[store], injection={"format": injection_format})
>>> agent = Agent(model=model, memory_manager=manager)
"""

from unsay.strands.ranked import RankedMemory
from unsay.strands.rendering import injection_format
from unsay.strands.store import MemoryStoreError, ReadOnlyUnsayMemoryStore, UnsayMemoryStore

__all__ = [
    "MemoryStoreError",
    "RankedMemory",
    "ReadOnlyUnsayMemoryStore",
    "UnsayMemoryStore",
    "injection_format",
]
