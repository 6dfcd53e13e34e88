"""The deployed stack on a local cloud, once per run, for the tests marked `stack`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from local.place import Place
from tests.support.stack import ROOT, Stack, free_port, start, stop


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, deployed from a current `cdk.out` to a cloud with empty state."""
    subprocess.run([sys.executable, "-m", "infra.synth"], cwd=ROOT, check=True, capture_output=True)
    place = Place(free_port(), tmp_path_factory.mktemp("stack") / "state")
    deployed = start(place)
    yield deployed
    stop(place)


@pytest.fixture
def faults(stack: Stack) -> Iterator[Callable[..., None]]:
    """Turns faults on for one test, and all of them off after it."""
    yield stack.faults
    stack.no_faults()
