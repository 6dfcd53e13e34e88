"""When document operations take effect: the catalog of a knowledge base, on a clock of the test's own."""

import numpy as np
import pytest

from local.kb_documents import Catalog, Content, Source, Status
from local.vector_store import Index, Owner, VectorStore

SOURCE_ARN = "arn:aws:s3vectors:us-east-1:000000000000:bucket/kept/index/memories"
SOURCE = Source("KB00000001", "DS00000001", SOURCE_ARN)
VECTOR = np.ones(4, np.float32)


class Cloud:
    """A catalog over a store with one index; time stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.store = VectorStore()
        bucket = self.store.create_bucket(Owner("000000000000", "us-east-1"), "kept", self.now)
        self.index = self.store.create_index(
            bucket, Index("memories", SOURCE_ARN, 4, "cosine", ("AMAZON_BEDROCK_TEXT",), self.now)
        )
        self.catalog = self.new_catalog()

    def new_catalog(self) -> Catalog:
        return Catalog(self.store, clock=lambda: self.now)

    def ingest(self, text: str, lag: float) -> None:
        self.catalog.complete(self.catalog.ingest(SOURCE, [Content("d", text, {})], lag), [VECTOR])

    def delete(self, lag: float, *, dropped: bool = False) -> None:
        self.catalog.delete(SOURCE, ["d"], lag, dropped=dropped)

    def after(self, seconds: float, lag: float = 60) -> tuple[str, list[str]]:
        """Status and indexed texts once time has moved."""
        self.now += seconds
        self.catalog.settle(lag)
        texts = [vector.metadata["AMAZON_BEDROCK_TEXT"] for vector in self.index.vectors.values()]
        return self.catalog.standing(SOURCE, "d").status, texts


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


def test_an_older_ingest_that_settles_late_does_not_overtake_a_newer_one(cloud: Cloud) -> None:
    cloud.ingest("old", lag=50)
    cloud.ingest("new", lag=1)
    assert cloud.after(2) == (Status.INDEXED, ["new"])
    assert cloud.after(100) == (Status.INDEXED, ["new"])


def test_an_older_delete_that_settles_late_does_not_remove_what_came_after(cloud: Cloud) -> None:
    cloud.ingest("first", lag=0)
    assert cloud.after(0) == (Status.INDEXED, ["first"])
    cloud.delete(lag=50)
    cloud.ingest("second", lag=1)
    assert cloud.after(2) == (Status.INDEXED, ["second"])
    assert cloud.after(100) == (Status.INDEXED, ["second"])


def test_an_operation_takes_effect_while_a_newer_one_waits(cloud: Cloud) -> None:
    cloud.ingest("first", lag=1)
    cloud.delete(lag=50)
    assert cloud.after(2) == (Status.DELETING, ["first"])
    assert cloud.after(50) == (Status.NOT_FOUND, [])


def test_an_ingest_whose_vector_is_not_ready_waits_and_a_later_delete_wins(cloud: Cloud) -> None:
    operations = cloud.catalog.ingest(SOURCE, [Content("d", "slow", {})], lag=1)
    assert cloud.after(5) == (Status.IN_PROGRESS, [])
    cloud.delete(lag=1)
    assert cloud.after(2) == (Status.NOT_FOUND, [])
    cloud.catalog.complete(operations, [VECTOR])
    assert cloud.after(50) == (Status.NOT_FOUND, [])


@pytest.mark.parametrize(("dropped", "left"), [(False, []), (True, ["old"])])
def test_an_ignored_ingest_does_not_swallow_the_delete_before_it(
    cloud: Cloud, dropped: bool, left: list[str]
) -> None:
    cloud.ingest("old", lag=0)
    cloud.after(0)
    cloud.delete(lag=50, dropped=dropped)
    oversize = Content("d", "new", {"note": "x" * 2000})
    cloud.catalog.complete(cloud.catalog.ingest(SOURCE, [oversize], lag=1), [VECTOR])
    assert cloud.after(2) == (Status.IGNORED, left)


def test_a_dropped_delete_leaves_an_ingest_that_still_waits_alone(cloud: Cloud) -> None:
    cloud.ingest("kept", lag=10)
    cloud.delete(lag=1, dropped=True)
    assert cloud.after(2) == (Status.STARTING, [])
    assert cloud.after(20) == (Status.INDEXED, ["kept"])


def test_a_lowered_lag_releases_what_waits_and_a_raised_one_holds_nothing_back(cloud: Cloud) -> None:
    cloud.ingest("a", lag=60)
    assert cloud.after(1, lag=0.5) == (Status.INDEXED, ["a"])
    cloud.ingest("b", lag=1)
    assert cloud.after(2, lag=60) == (Status.INDEXED, ["b"])


def test_a_withdrawn_ingest_leaves_no_trace(cloud: Cloud) -> None:
    operations = cloud.catalog.ingest(SOURCE, [Content("d", "failed", {})], lag=1)
    cloud.catalog.withdraw(SOURCE, operations)
    assert cloud.after(5) == (Status.NOT_FOUND, [])
    assert cloud.catalog.identifiers(SOURCE) == []


def test_a_vector_the_index_refuses_makes_the_document_fail_with_the_reason(cloud: Cloud) -> None:
    cloud.index.non_filterable = ()
    cloud.ingest("x" * 3000, lag=0)
    assert cloud.after(0) == (Status.FAILED, [])
    reason = cloud.catalog.standing(SOURCE, "d").reason
    assert "Filterable metadata must have at most 2048 bytes (Service: S3Vectors, Status Code: 400)" in reason


def test_a_client_token_is_new_once_and_again_after_its_call_failed(cloud: Cloud) -> None:
    assert cloud.catalog.first_use("ingest", "t")
    assert not cloud.catalog.first_use("ingest", "t")
    assert cloud.catalog.first_use("delete", "t")
    cloud.catalog.release("ingest", "t")
    assert cloud.catalog.first_use("ingest", "t")


def test_a_snapshot_keeps_order_waiting_operations_and_used_tokens(cloud: Cloud) -> None:
    cloud.ingest("old", lag=0)
    cloud.after(0)
    cloud.ingest("new", lag=10)
    cloud.catalog.first_use("ingest", "t")
    snapshot = cloud.catalog.dump()
    cloud.catalog = cloud.new_catalog()
    cloud.catalog.load(snapshot)
    assert cloud.after(1) == (Status.STARTING, ["old"])
    assert not cloud.catalog.first_use("ingest", "t")
    cloud.delete(lag=1)
    assert cloud.after(5) == (Status.NOT_FOUND, [])
    assert cloud.after(50) == (Status.NOT_FOUND, [])


def test_a_deleted_source_takes_its_vectors_along_only_when_purged(cloud: Cloud) -> None:
    cloud.ingest("a", lag=0)
    cloud.after(0)
    cloud.catalog.drop_source(SOURCE, purge=False)
    assert len(cloud.index.vectors) == 1
    cloud.ingest("a", lag=0)
    cloud.after(0)
    unanswered = cloud.catalog.ingest(SOURCE, [Content("d", "late", {})], lag=0)
    cloud.catalog.drop_source(SOURCE, purge=True)
    cloud.catalog.withdraw(SOURCE, unanswered)
    assert cloud.index.vectors == {}
    assert cloud.catalog.identifiers(SOURCE) == []
