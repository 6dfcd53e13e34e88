"""What IAM decides, evaluated a second time: from its rules, over the synthesized template.

It shares no code with the local cloud, and is small on purpose. What it does not know raises, so that a
policy it cannot judge is never called safe.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

Context = dict[str, Any]  # condition key → text, or a list of texts; absent keys are not there
_VARIABLE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True)
class Principal:
    """Who asks: the ARN of a role, the policies it holds, and the tags of its session."""

    arn: str
    policies: tuple[dict[str, Any], ...]
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One thing a request needs to be allowed: an action on a resource, and what the request says of it."""

    action: str
    resource: str
    context: Context = field(default_factory=dict)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class Template:
    """A synthesized stack: its roles and policies, with made-up ARNs for what only a deployment names."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._resources: dict[str, Any] = body["Resources"]

    def named(self, kind: str, prefix: str) -> str:
        """The logical id of the only resource of a type whose name begins so."""
        (found,) = (n for n, r in self._resources.items() if r["Type"] == kind and n.startswith(prefix))
        return found

    def arn(self, kind: str, prefix: str) -> str:
        return f"arn:{self.named(kind, prefix)}"

    def role(self, prefix: str, **tags: str) -> Principal:
        """A session of a role, with the policies inside it and those attached to it."""
        name = self.named("AWS::IAM::Role", prefix)
        documents = [each["PolicyDocument"] for each in self._of(name).get("Policies", [])]
        for policy in self._resources.values():
            if policy["Type"] == "AWS::IAM::Policy" and {"Ref": name} in policy["Properties"]["Roles"]:
                documents.append(policy["Properties"]["PolicyDocument"])
        return Principal(f"arn:{name}", tuple(map(self._plain, documents)), tags)

    def trust(self, prefix: str) -> dict[str, Any]:
        """Who may take a role on."""
        return self._plain(self._of(self.named("AWS::IAM::Role", prefix))["AssumeRolePolicyDocument"])

    def bucket_policies(self) -> list[dict[str, Any]]:
        """What the buckets themselves refuse."""
        found = [r for r in self._resources.values() if r["Type"] == "AWS::S3::BucketPolicy"]
        return [self._plain(each["Properties"]["PolicyDocument"]) for each in found]

    def _of(self, name: str) -> dict[str, Any]:
        properties: dict[str, Any] = self._resources[name]["Properties"]
        return properties

    def _plain(self, value: Any) -> Any:
        """A value without the template's functions."""
        if isinstance(value, list):
            return [self._plain(member) for member in value]
        if not isinstance(value, dict):
            return value
        if "Fn::GetAtt" in value:
            name, attribute = value["Fn::GetAtt"]
            return f"arn:{name}" if attribute.endswith("Arn") else f"arn:{name}/{attribute}"
        if "Ref" in value:
            return f"ref:{value['Ref']}"
        if "Fn::Join" in value:
            separator, parts = value["Fn::Join"]
            return separator.join(map(str, self._plain(parts)))
        return {name: self._plain(member) for name, member in value.items()}


def allows(principal: Principal, check: Check, resource_policies: list[dict[str, Any]]) -> bool:
    """Whether a check passes: denied anywhere is denied, and what nobody allows is denied too."""
    context = check.context | {f"aws:PrincipalTag/{key}": value for key, value in principal.tags.items()}
    own = [s for policy in principal.policies for s in policy["Statement"]]
    others = [s for policy in resource_policies for s in policy["Statement"]]
    if any(_applies(s, check, context) for s in [*own, *others] if s["Effect"] == "Deny"):
        return False
    return any(_applies(s, check, context) for s in own if s["Effect"] == "Allow")


def may_assume(caller: Principal, role_arn: str, trust: dict[str, Any], tags: dict[str, str]) -> bool:
    """Whether a caller is given a role with session tags: its own policies and the role's trust agree."""
    context: Context = {f"aws:RequestTag/{key}": value for key, value in tags.items()}
    if tags:
        context["aws:TagKeys"] = list(tags)
    for action in ("sts:AssumeRole", *(["sts:TagSession"] if tags else [])):
        check = Check(action, role_arn, context)
        trusted = any(
            s["Effect"] == "Allow"
            and caller.arn in listed(s["Principal"].get("AWS", []))
            and _applies(s | {"Resource": role_arn}, check, context)
            for s in trust["Statement"]
        )
        if not trusted or not allows(caller, check, []):
            return False
    return True


def _applies(statement: dict[str, Any], check: Check, context: Context) -> bool:
    unknown = statement.keys() - {"Sid", "Effect", "Action", "Resource", "Condition", "Principal"}
    if unknown:
        raise NotImplementedError(f"a statement with {sorted(unknown)}")
    if not any(_like(pattern, check.action, fold=True) for pattern in listed(statement["Action"])):
        return False
    if not any(_matches(pattern, check.resource, context) for pattern in listed(statement["Resource"])):
        return False
    return all(
        _holds(operator, key, listed(values), context)
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in keys.items()
    )


def _holds(operator: str, key: str, values: list[str], context: Context) -> bool:
    found = context.get(key)
    if operator == "Null":
        return all((found is None) is (value == "true") for value in values)
    quantifier, _, plain = operator.rpartition(":")
    if quantifier == "ForAllValues":
        return all(_compares(plain, value, values, context) for value in listed(found or []))
    if quantifier:
        raise NotImplementedError(operator)
    return found is not None and any(_compares(plain, value, values, context) for value in listed(found))


def _compares(operator: str, found: str, values: list[str], context: Context) -> bool:
    match operator:
        case "StringLike":
            return any(_matches(value, found, context) for value in values)
        case "StringEquals":
            return any(_filled(value, context, escape=False) == found for value in values)
        case "Bool":
            return any(value == found for value in values)
    raise NotImplementedError(operator)


def _matches(pattern: str, text: str, context: Context) -> bool:
    filled = _filled(pattern, context, escape=True)
    return filled is not None and _like(filled, text)


def _filled(pattern: str, context: Context, *, escape: bool) -> str | None:
    """The pattern with its variables filled in; None where one has no value, for then nothing matches."""
    names = _VARIABLE.findall(pattern)
    if any(not isinstance(context.get(name), str) for name in names):
        return None
    for name in names:
        value = context[name]
        if escape:  # a star in a value is a star
            value = value.replace("*", "[*]").replace("?", "[?]")
        pattern = pattern.replace(f"${{{name}}}", value)
    return pattern


def _like(pattern: str, text: str, *, fold: bool = False) -> bool:
    parts = re.split(r"(\[\*\]|\[\?\]|\*|\?)", pattern)
    wild = {"*": ".*", "?": ".", "[*]": r"\*", "[?]": r"\?"}
    expression = "".join(wild.get(part) or re.escape(part) for part in parts)
    return re.fullmatch(expression, text, re.DOTALL | (re.IGNORECASE if fold else 0)) is not None
