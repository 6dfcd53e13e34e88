"""The pages hold together, and what they say of the repository is so."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.support.stack import ROOT

DOCS = ROOT / "docs"
PAGES = sorted({*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "tests" / "README.md"})
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
_CALL = re.compile(r"`((?:GET|POST|PUT|PATCH|DELETE)(?:\\\|(?:GET|PUT))?) (/[^?`]*)[^`]*`")
NOT_BUILT_HERE = "github.com/unsay-dev/unsay/"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    local = [link for link in _LINK.findall(text) if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_links_to_the_repository_name_what_is_there():
    pattern = re.compile(rf"{re.escape(NOT_BUILT_HERE)}(?:blob|tree)/main/([^)#\s]+)")
    named = {path for page in PAGES for path in pattern.findall(page.read_text())}
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_site_has_every_page_and_no_other():
    nav = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(nav) == sorted(
        each for each in pages if each != "NEXT.md" and not each.startswith(("adr/", "runbook/"))
    )


def test_the_contract_and_the_openapi_document_have_the_same_calls():
    text = (DOCS / "api.md").read_text()
    told = {
        (method, _shape(f"/v1{path}"))
        for methods, path in _CALL.findall(text)
        for method in methods.replace("\\", "").split("|")
    }
    paths = json.loads((DOCS / "openapi.json").read_text())["paths"]
    served = {(method.upper(), _shape(path)) for path, methods in paths.items() for method in methods}
    assert told == served
    assert len(served) > 40


def _shape(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


def test_the_workflow_runs_what_the_makefile_has_on_the_pythons_that_are_promised():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    targets = set(re.findall(r"run: make (\w+)", workflow))
    assert targets == {"check", "test", "site"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}: ", makefile, re.MULTILINE) for target in targets)
    (matrix,) = re.findall(r"^ +python: \[(.*)\]", workflow, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [
        found[1] for each in project["classifiers"] if (found := re.fullmatch(r".*:: (3\.\d+)", each))
    ]
    assert json.loads(f"[{matrix}]") == promised
    assert project["requires-python"] == f">={promised[0]}"
