"""The list of tombstones: what is noted alone or together is listed, of each digest the last note."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.conftest import new_scope_id
from tests.support.fakes import MemoryGraves
from tests.support.samples import AT
from unsay_core.adapters.s3.graves import S3Graves
from unsay_core.application.graves import Grave, Standing
from unsay_core.domain.memory import Reason
from unsay_core.domain.tombstone import TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Callable

    import boto3

    from unsay_core.application.graves import GraveNotes

VALUE = Grave(TombstoneKind.VALUE, "ab" * 32, AT, Standing.BURIED, Reason.POLICY)
NAMED = Grave(TombstoneKind.ID, "mem_01jabcdefghjkmnpqrstvwxyz0", AT, Standing.ERASED, Reason.USER_REQUEST)
LATER = AT + timedelta(days=1)


@pytest.fixture(params=["fake", "s3"])
def new_graves(request: pytest.FixtureRequest) -> Callable[[], GraveNotes]:
    if request.param == "fake":
        return MemoryGraves
    session: boto3.session.Session = request.getfixturevalue("moto_session")
    client: Any = session.client("s3")
    client.create_bucket(Bucket="anchors-of-graves")
    client.put_bucket_versioning(Bucket="anchors-of-graves", VersioningConfiguration={"Status": "Enabled"})
    return lambda: S3Graves(lambda: client, "anchors-of-graves", new_scope_id())


@pytest.mark.parametrize("together", [True, False], ids=["together", "alone"])
def test_what_was_noted_is_listed_and_a_second_time_changes_nothing(
    new_graves: Callable[[], GraveNotes], together: bool
) -> None:
    graves, other = new_graves(), new_graves()
    for _ in range(2):
        for some in ([VALUE, NAMED],) if together else ([VALUE], [NAMED]):
            graves.note(some)
    assert sorted(graves.listed(), key=repr) == sorted([VALUE, NAMED], key=repr)
    assert list(other.listed()) == []


def test_of_the_notes_of_one_digest_the_last_holds_however_it_was_noted(
    new_graves: Callable[[], GraveNotes],
) -> None:
    graves = new_graves()
    erased = replace(VALUE, at=LATER, standing=Standing.ERASED)
    lifted = replace(erased, standing=Standing.LIFTED)
    graves.note([lifted])
    graves.note([VALUE, erased, NAMED])
    assert set(graves.listed()) == {lifted, NAMED}
    graves.note([replace(VALUE, at=LATER + timedelta(days=1)), replace(NAMED, at=LATER)])
    assert {grave.at for grave in graves.listed()} == {LATER, LATER + timedelta(days=1)}


def test_hundreds_that_are_noted_together_are_one_object(moto_session: boto3.session.Session) -> None:
    client: Any = moto_session.client("s3")
    client.create_bucket(Bucket="anchors-of-many")
    graves = S3Graves(lambda: client, "anchors-of-many", new_scope_id())
    many = [replace(VALUE, digest=f"{number:064x}") for number in range(300)]
    graves.note(many)
    assert client.list_objects_v2(Bucket="anchors-of-many")["KeyCount"] == 1
    assert set(graves.listed()) == set(many)
