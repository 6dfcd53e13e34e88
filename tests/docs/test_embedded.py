"""What docs/embedded.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.stack import ROOT


def test_the_programs_run_as_shown(tmp_path: Path):
    page = (ROOT / "docs" / "embedded.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(programs) == 2
    for program in programs:
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
