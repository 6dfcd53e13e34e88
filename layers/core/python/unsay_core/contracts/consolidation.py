"""What a consolidation is asked for."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from unsay_core.contracts.base import ScopeField, Wire, parse_share
from unsay_core.contracts.requests import BeliefField
from unsay_core.contracts.transfers import JobId
from unsay_core.extraction.steering import COSINE, WORDS

LEAST = Decimal("0.5")


def _enough(share: Decimal) -> Decimal:
    if share < LEAST:
        raise ValueError(f"at least {LEAST}: what has less in common is not the same")
    return share


Threshold = Annotated[
    Decimal,
    BeforeValidator(parse_share),
    AfterValidator(_enough),
    WithJsonSchema({"type": "number", "minimum": 0.5, "maximum": 1}),
]


class ConsolidateIn(Wire):
    """`POST /v1/consolidate`: merge beliefs that have at least `threshold` of their words in common.

    Or half of them, where the longer says all that the shorter does and their vectors have that `cosine`;
    null for words alone. Nothing is merged across kinds, keys, trust, data, metadata or times. `dry_run` only
    finds them; `undo` takes back what that job merged.
    """

    scope: ScopeField
    threshold: Threshold = WORDS
    cosine: Threshold | None = COSINE
    kinds: Annotated[list[BeliefField], Field(min_length=1, max_length=3)] | None = None
    dry_run: bool = False
    undo: JobId | None = None
