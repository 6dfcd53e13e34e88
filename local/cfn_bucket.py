"""`AWS::S3::Bucket` as CloudFormation treats it: with Object Lock, and not deleted while anything is in it.

The emulator locks objects and refuses what AWS refuses, but its CloudFormation neither turns the lock on nor
minds what it deletes; and its locks do not outlive a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

from ministack.services import s3
from ministack.services.cloudformation import provisioners

from local import persistence

if TYPE_CHECKING:
    from collections.abc import Mapping

PATCHES = {
    "ministack.services.cloudformation.provisioners": (
        "_RESOURCE_HANDLERS",
        "_s3_create",
        "_s3_update",
    ),
    "ministack.services.s3": (
        "_bucket_versioning",
        "_delete_bucket",
        "_object_legal_hold",
        "_object_retention",
        "_put_object_lock_configuration",
    ),
}

Properties: TypeAlias = "Mapping[str, Any]"
Made: TypeAlias = tuple[str, dict[str, str]]

_TYPE = "AWS::S3::Bucket"
_STORES = {"retention": s3._object_retention, "legal_hold": s3._object_legal_hold}


def _create(logical_id: str, properties: Properties, stack: str) -> Made:
    configuration = lock_configuration(properties)
    name, attributes = provisioners._s3_create(logical_id, properties, stack)
    _lock(name, configuration)
    return name, attributes


def _update(name: str, old: Properties, new: Properties, stack: str) -> Made:
    configuration = lock_configuration(new)
    if lock_configuration(old) and not configuration:
        raise ValueError("Object Lock cannot be disabled once it is enabled")
    found, attributes = provisioners._s3_update(name, old, new, stack)
    _lock(found, configuration)
    return found, attributes


def _delete(name: str, _properties: Properties) -> None:
    status, _, body = s3._delete_bucket(name)
    if status == 409:
        raise ValueError(
            f"The bucket you tried to delete is not empty (Service: S3, Status Code: 409): {name}"
        )
    if status >= 400 and status != 404:
        raise ValueError(body.decode())


def lock_configuration(properties: Properties) -> dict[str, Any] | None:
    """The rule of a bucket with Object Lock, `{}` without a default, None for a bucket without a lock."""
    wanted = properties.get("ObjectLockConfiguration") or {}
    if str(properties.get("ObjectLockEnabled", False)).lower() != "true":
        if wanted:
            raise ValueError("ObjectLockConfiguration requires ObjectLockEnabled")
        return None
    if (properties.get("VersioningConfiguration") or {}).get("Status", "Enabled") != "Enabled":
        raise ValueError("Object Lock requires versioning")
    retention: dict[str, Any] = (wanted.get("Rule") or {}).get("DefaultRetention") or {}
    return retention


def _lock(name: str, retention: Mapping[str, Any] | None) -> None:
    if retention is None:
        return
    s3._bucket_versioning[name] = "Enabled"
    status, _, body = s3._put_object_lock_configuration(name, _document(retention))
    if status >= 400:
        raise ValueError(body.decode())


def _document(retention: Mapping[str, Any]) -> bytes:
    """What PutObjectLockConfiguration takes."""
    root = ElementTree.Element("ObjectLockConfiguration")
    ElementTree.SubElement(root, "ObjectLockEnabled").text = "Enabled"
    if retention:
        rule = ElementTree.SubElement(ElementTree.SubElement(root, "Rule"), "DefaultRetention")
        for name in ("Mode", "Days", "Years"):
            if name in retention:
                ElementTree.SubElement(rule, name).text = str(retention[name])
    return ElementTree.tostring(root)


def _dump() -> dict[str, Any]:
    return {
        kind: [[account, list(version), value] for (account, version), value in store._data.items()]
        for kind, store in _STORES.items()
    }


def _load(state: Mapping[str, Any]) -> None:
    for kind, locks in state.items():
        _STORES[kind]._data = {(account, tuple(version)): value for account, version, value in locks}


def install() -> None:
    """Replace the emulator's handlers of the type, and keep the locks of objects."""
    provisioners._RESOURCE_HANDLERS[_TYPE] |= {"create": _create, "update": _update, "delete": _delete}
    persistence.register("object_locks", _dump, _load)
