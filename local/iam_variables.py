"""Policy variables (`${aws:PrincipalTag/scope}`) in the Resource and Condition of a policy.

The emulator compares them literally, which denies every policy that binds a session to its own data.
"""

from __future__ import annotations

import re
from typing import Any

from ministack.core import iam_evaluator as evaluator

PATCHES = {
    "ministack.core.iam_evaluator": (
        "_first_match",
        "_conditions_met",
        "_fnmatch_compile",
        "_action_matches",
        "_resolve_condition_key",
        "fnmatch_iam_cs",
    ),
}

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
# A wildcard inside a variable's value is an ordinary character. These private code points carry it
# through the pattern to the matcher, so that a session tag of "*" opens nothing.
_LITERAL = {"*": "\ue000", "?": "\ue001"}
_PATTERN = {"*": ".*", "?": ".", "\ue000": r"\*", "\ue001": r"\?"}
_compiled: dict[tuple[str, bool], re.Pattern[str]] = {}
_original_conditions_met = evaluator._conditions_met


class UnsetVariableError(LookupError):
    """A policy names a variable the request has no value for: its statement cannot match."""


def compile_pattern(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """An IAM wildcard pattern as a regular expression for the whole value, line breaks included."""
    key = (pattern, ignore_case)
    if key not in _compiled:
        body = "".join(_PATTERN.get(character) or re.escape(character) for character in pattern)
        _compiled[key] = re.compile(rf"{body}\Z", re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    return _compiled[key]


def substitute(pattern: str, context: Any, *, wildcards: bool) -> str:
    """The pattern with its variables replaced by the request's values; raises UnsetVariableError."""

    def value(match: re.Match[str]) -> str:
        name, comma, default = match.group(1).partition(",")
        if name in ("*", "?", "$"):
            return _LITERAL.get(name, name) if wildcards else name
        found = evaluator._resolve_condition_key(name.strip(), context)
        if found is None and comma:
            found = default.strip().strip("'")
        if found is None or isinstance(found, list):
            raise UnsetVariableError(name)
        text = str(found)
        return "".join(_LITERAL.get(c, c) for c in text) if wildcards else text

    return _VARIABLE.sub(value, pattern) if "${" in pattern else pattern


def _first_match(context: Any, statements: list[Any], effect: str) -> Any:
    for statement in statements:
        if (
            statement.effect == effect
            and evaluator._action_matches(context.action, statement.actions, statement.not_actions)
            and _resource_matches(statement, context)
            and evaluator._conditions_met(statement.conditions, context)
        ):
            return statement
    return None


def _resource_matches(statement: Any, context: Any) -> bool:
    if statement.resources:
        return any(_matches(context.resource_arn, pattern, context) for pattern in statement.resources)
    try:
        excluded = [substitute(pattern, context, wildcards=True) for pattern in statement.not_resources]
    except UnsetVariableError:
        return False
    return not any(evaluator.fnmatch_iam_cs(context.resource_arn, pattern) for pattern in excluded)


def _matches(arn: str, pattern: str, context: Any) -> bool:
    try:
        return bool(evaluator.fnmatch_iam_cs(arn, substitute(pattern, context, wildcards=True)))
    except UnsetVariableError:
        return False


def _conditions_met(conditions: Any, context: Any) -> bool:
    try:
        resolved = {
            operator: _resolved(operator, keys, context) for operator, keys in (conditions or {}).items()
        }
    except UnsetVariableError:
        return False
    return bool(_original_conditions_met(resolved, context))


def _resolved(operator: str, keys: Any, context: Any) -> Any:
    if not isinstance(keys, dict):
        return keys
    wildcards = "like" in operator.lower() or "arn" in operator.lower()
    return {
        key: [
            substitute(str(v), context, wildcards=wildcards)
            for v in (found if isinstance(found, list) else [found])
        ]
        for key, found in keys.items()
    }


def install() -> None:
    """Teach the emulator's policy evaluation the variables."""
    evaluator._fnmatch_compile = compile_pattern
    evaluator._first_match = _first_match
    evaluator._conditions_met = _conditions_met
