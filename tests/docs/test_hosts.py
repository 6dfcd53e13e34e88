"""What the pages of the hosts show is what happens."""

import re
import subprocess
import sys

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.server import served
from tests.support.stack import ROOT

PAGES = ["langgraph", "strands", "mcp"]
MODEL = "from tests.hosts.scripted import Scripted; model = Scripted()\n"


def with_model(block):
    """The model that a page leaves to its reader, made where it is named."""
    return re.sub(r"^(?=.*(Agent|create_harness)\(model)", MODEL, block, count=1, flags=re.M)


OVER_HTTPS = 'f"{url}/mcp"'  # on the deployed stack alone: `hosts/test_on_stack.py`


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL | re.M)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_as_shown(page):
    blocks = [block for block in blocks_of(page) if OVER_HTTPS not in block]
    assert blocks
    with served(Caller(FakeService())) as url:
        for block in blocks:
            done = subprocess.run(
                [sys.executable, "-c", with_model(block)],
                env={"UNSAY_URL": url, "UNSAY_TOKEN": "t", "PYTHONPATH": ":".join(sys.path)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
