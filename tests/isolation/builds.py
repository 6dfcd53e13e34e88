"""Builds of the service that are broken on purpose, deployed the way every build is.

A build is the synthesized app with something added to the end of some of our modules. Nothing else differs:
the same template, roles and policies, and other code in the λs.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from infra.freshness import OUTDIR

OURS = ("python/unsay_core", "functions")


def build(folder: Path, additions: Mapping[str, str]) -> Path:
    """A copy of the synthesized app in `folder`; `additions` go to the end of modules, by their paths."""
    folder.mkdir()
    salt = hashlib.sha256(json.dumps(additions, sort_keys=True).encode()).hexdigest()
    renamed: dict[str, str] = {}
    for path in OUTDIR.iterdir():
        if path.is_dir() and any((path / ours).is_dir() for ours in OURS):
            digest = path.name.removeprefix("asset.")
            renamed[digest] = hashlib.sha256(f"{digest}{salt}".encode()).hexdigest()
            shutil.copytree(path, folder / f"asset.{renamed[digest]}")
        elif path.is_dir():
            (folder / path.name).symlink_to(path)
    for module, text in additions.items():
        (found,) = (
            asset / p for asset in folder.glob("asset.*") for p in places(module) if (asset / p).is_file()
        )
        found.write_text(f"{found.read_text()}\n\n{text}")
        forget_bytecode(found)
    files = json.loads((OUTDIR / "unsay-dev.assets.json").read_text())["files"]
    template = next(name for name, file in files.items() if file["source"]["path"].endswith(".template.json"))
    renamed[template] = hashlib.sha256(f"{template}{salt}".encode()).hexdigest()
    for path in OUTDIR.glob("*.json"):
        text = path.read_text()
        for old, new in renamed.items():
            text = text.replace(old, new)
        (folder / path.name).write_text(text)
    return folder


def forget_bytecode(module: Path) -> None:
    """What was compiled of a module before it was changed; nobody would look whether it still fits."""
    for stale in module.parent.glob(f"__pycache__/{module.stem}.*.pyc"):
        stale.unlink()


def places(module: str) -> tuple[str, str]:
    """Where a module may lie in an asset."""
    return f"python/{module}", module


NAMES_THE_FAULT = """
def _named(self, fault, request):
    code = getattr(fault, "response", {}).get("Error", {}).get("Code", "")
    return _problem(InternalError(f"{type(fault).__name__} {code}"), request)


Endpoints._fault = _named
"""

BELIEVES_EVERY_CURSOR = """
def open_(keyring, scope_id, query, cursor):
    return _bytes(cursor)[_SIGNATURE_BYTES:].decode()
"""

LEADS_ASTRAY = """
import os

from unsay_core.adapters.dynamodb.items import IN_RECORD

ASTRAY = {astray}


def _other(store, scope_id):
    return ASTRAY[store].get(scope_id, scope_id)


class _Place(Place):
    def partition(self, area):
        return f"{{_other('record' if area in IN_RECORD else 'ledger', self.scope_id)}}#{{area.value}}"

    def table(self, area):
        led = self.scope_id in ASTRAY["access"]
        return os.environ["UNSAY_ACCESS_TABLE"] if led else super(_Place, self).table(area)


Place = _Place
_ledger, _anchors, _documents = DynamoLedger, S3Anchors, S3Documents


def DynamoLedger(client, place):
    bare = place.scope_id in ASTRAY["bare"]
    return _ledger(boto3.session.Session().client("dynamodb") if bare else client, place)


def S3Anchors(client, bucket, scope_id):
    return _anchors(client, bucket, _other("anchors", scope_id))


def S3Documents(client, bucket, scope_id):
    return _documents(client, bucket, _other("documents", scope_id))
"""

SEARCHES_ELSEWHERE = """
ASTRAY = {astray}
_filter = scope_filter


def scope_filter(scope_id, *narrower):
    return _filter(ASTRAY.get(scope_id, scope_id), *narrower)


def _unchecked(self, results):
    if self._scope_id in ASTRAY:
        print("PROPOSED", sorted(result["location"]["customDocumentLocation"]["id"] for result in results))
    return [Hit(result["location"]["customDocumentLocation"]["id"], 0.9) for result in results]


KnowledgeBaseSearch._checked = _unchecked
"""


def wall_build(astray: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Every check after `open_scope` off; what a scope of `astray` opens names the other one instead.

    By store: the ids of scopes, each with the id that its keys, prefixes and filters name.
    """
    stores = ("ledger", "record", "access", "bare", "anchors", "documents")
    led = {store: dict(astray.get(store, {})) for store in stores}
    return {
        "unsay_core/bootstrap/aws.py": LEADS_ASTRAY.format(astray=led),
        "unsay_core/adapters/bedrock/search.py": SEARCHES_ELSEWHERE.format(astray=dict(astray["search"])),
        "unsay_core/contracts/cursor.py": BELIEVES_EVERY_CURSOR,
        "unsay_core/endpoints/router.py": NAMES_THE_FAULT,
    }


LEAKY_BUILD = {
    "unsay_core/domain/scope.py": "Principal.require = lambda self, action, scope: None\n",
    "unsay_core/application/scopes.py": """
def known_scopes(principal, prefix, registry):
    roots = [prefix.segments[0]] if prefix else sorted(registry.roots())
    return [scope for root in roots for scope in registry.below(root)]
""",
    "unsay_core/contracts/cursor.py": BELIEVES_EVERY_CURSOR,
}
