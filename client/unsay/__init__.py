"""unsay: memory for agents that can be taken back.

>>> import unsay
>>> memory = unsay.connect("https://….execute-api.eu-central-1.amazonaws.com", token="unsay_…")
>>> home = memory.remember("Alice lives in Lisbon.", scope="acme/users/alice")
>>> memory.recall("Where does she live?", scope="acme/users/alice").items[0].memory.content
'Alice lives in Lisbon.'
>>> home = memory.correct(home, "Alice lives in Porto.", because="changed")
>>> memory.forget(home, reason="user_request").state
'pending'

The errors are drawn as a tree in `unsay.errors`.

What stands here is imported when it is first named: whoever imports `unsay` waits for nothing else yet.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unsay.asking import Ask
    from unsay.client import AsyncMemory, Memory, connect, connect_async, every, every_async
    from unsay.embedding import Embedder, Extractor
    from unsay.errors import (
        AlreadyForgottenError,
        BusyError,
        ClosedError,
        ForbiddenError,
        ForgottenError,
        IdempotencyMismatchError,
        InternalError,
        InvalidCursorError,
        InvalidLimitError,
        InvalidRequestError,
        InvalidScopeError,
        InvalidTimeError,
        MethodNotAllowedError,
        NotFoundError,
        PreconditionRequiredError,
        ProblemError,
        QuotaExceededError,
        ReservedKeyError,
        SecretRefusedError,
        SeqConflictError,
        StoreError,
        ThrottledError,
        TombstonedError,
        TooLargeError,
        TryAgainError,
        UnauthenticatedError,
        UnavailableError,
        UnexpectedAnswerError,
        UnreachableError,
        UnsayError,
        VersionConflictError,
        WrongStatusError,
    )
    from unsay.injector import InjectionCounts, Injector
    from unsay.signing import AwsAuth
    from unsay.verbs import KEEP
    from unsay_core.contracts.conversations import (
        BatchStateOut,
        ConversationOut,
        ExtractionOut,
        HandedOut,
        MessageOut,
        PolicyOut,
        RecordedOut,
        RunOut,
        RunsOut,
        UploadOut,
        UploadStateOut,
    )
    from unsay_core.contracts.schemas import (
        AuditOut,
        BatchOut,
        DelegationOut,
        ErasureOut,
        ErasuresOut,
        EventOut,
        HistoryOut,
        KeyOut,
        KeysOut,
        ListedKeyOut,
        ListOut,
        MemoryOut,
        RecalledOut,
        RecallOut,
        ResultOut,
        ReviewItemOut,
        ReviewsOut,
        ScopesOut,
        StatisticsOut,
        TombstoneOut,
        TombstonesOut,
        VerifyOut,
    )
    from unsay_core.contracts.transfers import JobOut
    from unsay_core.domain.memory import Because, Kind, Reason, Status, Trust

__all__ = [
    "KEEP",
    "AlreadyForgottenError",
    "Ask",
    "AsyncMemory",
    "AuditOut",
    "AwsAuth",
    "BatchOut",
    "BatchStateOut",
    "Because",
    "BusyError",
    "ClosedError",
    "ConversationOut",
    "DelegationOut",
    "Embedder",
    "ErasureOut",
    "ErasuresOut",
    "EventOut",
    "ExtractionOut",
    "Extractor",
    "ForbiddenError",
    "ForgottenError",
    "HandedOut",
    "HistoryOut",
    "IdempotencyMismatchError",
    "InjectionCounts",
    "Injector",
    "InternalError",
    "InvalidCursorError",
    "InvalidLimitError",
    "InvalidRequestError",
    "InvalidScopeError",
    "InvalidTimeError",
    "JobOut",
    "KeyOut",
    "KeysOut",
    "Kind",
    "ListOut",
    "ListedKeyOut",
    "Memory",
    "MemoryOut",
    "MessageOut",
    "MethodNotAllowedError",
    "NotFoundError",
    "PolicyOut",
    "PreconditionRequiredError",
    "ProblemError",
    "QuotaExceededError",
    "Reason",
    "RecallOut",
    "RecalledOut",
    "RecordedOut",
    "ReservedKeyError",
    "ResultOut",
    "ReviewItemOut",
    "ReviewsOut",
    "RunOut",
    "RunsOut",
    "ScopesOut",
    "SecretRefusedError",
    "SeqConflictError",
    "StatisticsOut",
    "Status",
    "StoreError",
    "ThrottledError",
    "TombstoneOut",
    "TombstonedError",
    "TombstonesOut",
    "TooLargeError",
    "Trust",
    "TryAgainError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "UnsayError",
    "UploadOut",
    "UploadStateOut",
    "VerifyOut",
    "VersionConflictError",
    "WrongStatusError",
    "connect",
    "connect_async",
    "every",
    "every_async",
]

# Where what is named here is looked for, one after the other; whoever connects needs the most of them.
_PLACES = (
    "unsay.client",
    "unsay.errors",
    "unsay.asking",
    "unsay.embedding",
    "unsay.injector",
    "unsay.signing",
    "unsay.verbs",
    "unsay_core.contracts.schemas",
    "unsay_core.contracts.conversations",
    "unsay_core.contracts.transfers",
    "unsay_core.domain.memory",
)

if not TYPE_CHECKING:  # a checker sees the names above, and no others

    def __getattr__(name: str) -> object:
        """What is exported under a name, or one of the modules above (PEP 562)."""
        from importlib import import_module

        if f"{__name__}.{name}" in _PLACES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            for module in map(import_module, _PLACES):
                if hasattr(module, name):
                    return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """What is exported."""
        return sorted({*__all__, *globals()})
