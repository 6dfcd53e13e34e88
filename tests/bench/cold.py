"""What a cold start costs: importing and making the api λ, against its three libraries alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from typing import TYPE_CHECKING

from tests.bench.table import Figure
from tests.functional.aws import GENERATIONS
from tests.support.stack import ROOT
from unsay_core.generations import as_plain
from unsay_core.settings import ApiSettings, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION = "Cold start"
RUNS = 9
_LIBRARIES = """
import boto3
from pydantic import BaseModel
from aws_lambda_powertools import Logger
boto3.session.Session()
"""
_FUNCTION = "import functions.api.handler"
_CALLS = "import unsay_core.endpoints.memories, unsay_core.endpoints.reads"
_MEASURED = """
import resource, time
began = time.process_time()
{code}
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def figures() -> Iterator[Figure]:
    """Each in a process of its own, in turn: of several runs the one that was disturbed least."""
    programs = {"libraries": _LIBRARIES, "function": _FUNCTION, "calls": f"{_FUNCTION}\n{_CALLS}"}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(RUNS):
        for name, code in programs.items():
            found[name].append(_measured(code))
    spent = {name: min(ms for ms, _ in runs) for name, runs in found.items()}
    memory = max(most for _, most in found["function"])
    yield Figure(SECTION, "boto3 session, Powertools and pydantic", spent["libraries"], "ms of CPU")
    yield Figure(SECTION, "the api λ, imported and made", spent["function"], "ms of CPU")
    yield Figure(SECTION, "… against its libraries", spent["function"] / spent["libraries"], "times", 1.6)
    yield Figure(SECTION, "… with what its first remember and recall import", spent["calls"], "ms of CPU")
    yield Figure(SECTION, "… memory", memory, "MiB")


def _measured(code: str) -> tuple[float, float]:
    """The processor time in milliseconds, and the most memory in MiB."""
    environment = {variables(ApiSettings)[field.name]: "x" for field in fields(ApiSettings)}
    environment |= {
        variables(ApiSettings)["index_generations"]: json.dumps(as_plain(GENERATIONS)),
        "PYTHONPATH": ":".join(sys.path),
        "PATH": "/usr/bin:/bin",
        "AWS_DEFAULT_REGION": "us-east-1",
        "POWERTOOLS_SERVICE_NAME": "api",
        "POWERTOOLS_METRICS_NAMESPACE": "unsay",
    }
    command = [sys.executable, "-c", _MEASURED.format(code=code)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    spent, most = (float(part) for part in ended.stdout.split())
    return spent * 1_000, most / 1_024
