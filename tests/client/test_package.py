"""What an import brings along."""

from __future__ import annotations

import subprocess
import sys

HEAVY = "boto3 botocore aws_lambda_powertools numpy onnxruntime mcp langgraph strands httpx rich".split()

OURS = ("unsay", "unsay_core")


def beside_the_standard_library(modules: set[str]) -> set[str]:
    """The packages of modules, without those that Python comes with."""
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names


def after(program: str) -> set[str]:
    """The modules that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", told], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_an_import_of_the_package_loads_nothing_else() -> None:
    before = after("pass")
    assert {name for name in after("import unsay") - before if name.startswith(OURS)} == {"unsay"}
    assert not beside_the_standard_library(after("import unsay") - before) - {"unsay"}
    assert "unsay.client" in after("import unsay; unsay.Memory"), "the control"


def test_an_import_brings_nothing_along_that_only_some_need() -> None:
    named = after("import unsay; unsay.Memory; unsay.Injector; unsay.BusyError; unsay.JobOut; unsay.Reason")
    models = after("from pydantic import Field")
    others = beside_the_standard_library(named) - beside_the_standard_library(models)
    assert others == {"unsay", "unsay_core"}
    assert not set(HEAVY) & named
    assert "httpx" in after("import unsay; unsay.connect('https://x.example', token='t')"), "the control"


def test_the_command_line_starts_without_a_way_to_a_network() -> None:
    assert not (set(HEAVY) - {"rich"}) & after("import unsay.cli")
    assert {"rich", "httpx"} <= after("import unsay.cli.transfers; unsay.cli.transfers._http()"), (
        "the control"
    )


def test_a_store_is_opened_without_a_model_or_a_way_to_a_network() -> None:
    opened = after("import unsay; unsay.connect('memory://').scopes()")
    assert not set(HEAVY) & opened
    used = after("import unsay; unsay.connect('memory://').remember('x', scope='a')")
    assert {"numpy", "onnxruntime"} <= used, "the control"
