"""One local cloud with one knowledge base for all tests of its AI services.

A plugin (`pytest_plugins`) rather than fixtures of each module, so that they share a server.
"""

from collections.abc import Iterator

import pytest

from tests.local.kb_cloud import Cloud, KnowledgeBase, knowledge_base, template, wait_until


@pytest.fixture(scope="session")
def ai_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A local cloud shared by the tests of S3 Vectors, Titan and knowledge bases."""
    cloud = Cloud(tmp_path_factory.mktemp("cloud"))
    cloud.start()
    yield cloud
    cloud.stop()


@pytest.fixture(scope="session")
def deployed(ai_cloud: Cloud) -> KnowledgeBase:
    return knowledge_base(ai_cloud, ai_cloud.deploy("shared", template("shared")))


@pytest.fixture
def kb(deployed: KnowledgeBase) -> Iterator[KnowledgeBase]:
    """The deployed knowledge base, empty and without faults before each test."""
    deployed.cloud.heal()
    deployed.cloud.faults(kb_lag_seconds=0)
    held = deployed.agent.list_knowledge_base_documents(
        knowledgeBaseId=deployed.id, dataSourceId=deployed.data_source
    )["documentDetails"]
    ids = [detail["identifier"]["custom"]["id"] for detail in held]
    for start in range(0, len(ids), 10):
        deployed.delete(*ids[start : start + 10])
    wait_until(lambda: not deployed.found("anything", numberOfResults=1))
    yield deployed
    deployed.cloud.heal()
