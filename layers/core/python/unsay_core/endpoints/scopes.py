"""What scopes there are, and how much is in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.scopes import known_scopes
from unsay_core.application.statistics import statistics
from unsay_core.contracts import answers, requests
from unsay_core.domain.scope import Action
from unsay_core.endpoints.reply import Reply

if TYPE_CHECKING:
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def get_statistics(call: Call, service: Service) -> Reply:
    """`GET /v1/stats`."""
    asked = call.query(requests.ScopeQuery)
    opened = service.open_scope(call.principal, asked.scope, Action.READ)
    return Reply(200, answers.statistics_answer(statistics(opened, service.world)))


def list_scopes(call: Call, service: Service) -> Reply:
    """`GET /v1/scopes`."""
    asked = call.query(requests.ScopesQuery)
    found = known_scopes(call.principal, asked.prefix, service.registry)
    return Reply(200, {"items": [scope.canonical for scope in found]})
