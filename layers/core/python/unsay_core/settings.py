"""The environment of a λ as one frozen value; a missing name fails at cold start, loudly.

The names stand here once: the infrastructure writes them, the handlers read them. Nobody compares or prints
settings, and every λ makes the classes of all: what they would need for it would take half of the time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "UNSAY_"
PROMPT_NAMES = ("1",)  # of what a model may be asked about a conversation, the newest last
TABLE_MARK = "TABLE"  # the partition of the mark within each table: no scope's, and of no area
EDGE_HEADER = "x-unsay-edge"  # by which the authorizer knows what came through the distribution
NO_EDGE = "none"


class MissingSettingError(RuntimeError):
    """A required environment variable is absent or empty."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Settings:
    """What every λ is told; the variable of a field is `UNSAY_` and its name in capitals."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings of one λ. Raises `MissingSettingError` naming every absent variable."""
        names = variables(cls)
        missing = sorted(name for name in names.values() if not environ.get(name))
        if missing:
            raise MissingSettingError(f"missing environment variables: {', '.join(missing)}")
        return cls(**{field: environ[name] for field, name in names.items()})


def variables(settings: type[Settings]) -> dict[str, str]:
    """Field name → environment variable, for the infrastructure to fill."""
    return {field.name: PREFIX + field.name.upper() for field in fields(settings)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApiSettings(Settings):
    """The api λ: it may open scopes and read the pepper, nothing else."""

    ledger_table: str
    record_table: str
    access_table: str
    documents_bucket: str
    anchors_bucket: str
    intake_bucket: str
    transfers_bucket: str
    index_generations: str
    reader_role_arn: str
    writer_role_arn: str
    eraser_role_arn: str
    carrier_role_arn: str
    access_role_arn: str
    pepper_secret_arn: str
    oidc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class McpSettings(ApiSettings):
    """The mcp λ: the api λ's, and whether its tools only read: `true` or `false`."""

    read_only: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuthorizerSettings(Settings):
    """The authorizer λ: it reads keys and bindings, under its own role.

    `oidc` are the issuers whose tokens are taken: a JSON list of `{"issuer", "audiences"}`, maybe empty.
    `edge_secret_arn` is of what a request has to bring in `EDGE_HEADER`, or `none`.
    """

    access_table: str
    pepper_secret_arn: str
    oidc: str
    edge_secret_arn: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProjectSettings(Settings):
    """The project λ: ledger changes become documents, index work, domain events, anchors and known scopes."""

    ledger_table: str
    record_table: str
    access_table: str
    documents_bucket: str
    anchors_bucket: str
    index_queue_url: str
    jobs_queue_url: str
    project_dead_letters_url: str
    event_bus_name: str
    projector_role_arn: str
    registrar_role_arn: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExtractSettings(Settings):
    """The extract λ: conversations become memories.

    `prompt` is the name of what the model is asked, one of `PROMPT_NAMES`. `guardrail` is `id:version`, or
    `none`; `model_price` is `read/written` in US dollars for a million tokens, or `none`.
    """

    ledger_table: str
    record_table: str
    access_table: str
    intake_bucket: str
    index_generations: str
    extract_queue_url: str
    extract_dead_letters_url: str
    extractor_role_arn: str
    meter_role_arn: str
    pepper_secret_arn: str
    prompt: str
    model_id: str
    model_price: str
    guardrail: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndexSettings(Settings):
    """The index λ: it alone writes to the index."""

    ledger_table: str
    record_table: str
    documents_bucket: str
    index_generations: str
    index_queue_url: str
    index_dead_letters_url: str
    projector_role_arn: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JobsSettings(Settings):
    """The jobs λ: work that outlasts a request. `recovery_days` is how long the tables can be restored."""

    ledger_table: str
    record_table: str
    documents_bucket: str
    index_generations: str
    jobs_queue_url: str
    jobs_dead_letters_url: str
    transfers_bucket: str
    intake_bucket: str
    remover_role_arn: str
    porter_role_arn: str
    access_table: str
    meter_role_arn: str
    pepper_secret_arn: str
    model_id: str
    model_price: str
    guardrail: str
    recovery_days: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SweepSettings(Settings):
    """The sweep λ: it finds what is due in the one index it may query, and opens each scope for the rest."""

    ledger_table: str
    record_table: str
    jobs_queue_url: str
    sweeper_role_arn: str
    access_table: str
    meter_role_arn: str
    pepper_secret_arn: str
