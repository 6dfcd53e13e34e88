"""What a host's client brings along: its own host, and nobody else's."""

import subprocess
import sys

import pytest

HOSTS = {"strands", "langgraph", "mcp"}
HEAVY = HOSTS | {"boto3", "numpy", "onnxruntime", "langchain_core"}


def brought(module):
    """The modules that are there once one is imported."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["unsay", "unsay.injector", "unsay.importers", "unsay.cli"])
def test_the_base_brings_no_host_and_nothing_heavy(module):
    assert brought(module).isdisjoint(HEAVY)


@pytest.mark.parametrize("host", sorted(HOSTS - {"strands"}))
def test_the_client_of_one_host_brings_no_other(host):
    found = brought(f"unsay.{host}")
    assert host in found
    assert found.isdisjoint(HOSTS - {host})


def test_the_client_of_strands_brings_what_strands_does():
    own = brought("strands.memory")
    assert "strands" in own
    assert (HOSTS | {"numpy"}) & brought("unsay.strands") == (HOSTS | {"numpy"}) & own
