"""Whether the tools of MCP only read, as the context says."""

from __future__ import annotations

import pytest

from infra.mcp import read_only_setting


@pytest.mark.parametrize(
    ("context", "setting"),
    [(None, "false"), (False, "false"), ("false", "false"), (True, "true"), ("true", "true")],
)
def test_the_command_line_and_the_file_say_the_same(context, setting):
    assert read_only_setting(context) == setting


@pytest.mark.parametrize("wrong", [1, "yes", "", [], {}])
def test_what_is_neither_is_refused_before_anything_is_deployed(wrong):
    with pytest.raises(ValueError, match="true or false"):
        read_only_setting(wrong)
