"""What a tool takes, to the letter: nothing unknown, no type bent; and what is told of a refusal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import ConfigDict, create_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_types import ToolAnnotations
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

# What is no name of an argument is the caller's own text, and is not repeated.
_NAME = re.compile(r"[A-Za-z_]{1,32}")
_UNKNOWN = "extra_forbidden"


class _Strict(ArgModelBase):
    """Mixed into the arguments that the SDK reads from a signature."""

    model_config = ConfigDict(extra="forbid", strict=True)


def strict_tool(function: Callable[..., Any], name: str, annotations: ToolAnnotations) -> Tool:
    """A tool that refuses what its schema does not show.

    The SDK drops an unknown argument: a model that makes up a scope would be told that all went well.
    """
    tool = Tool.from_function(function, name=name, annotations=annotations)
    loose = tool.fn_metadata.arg_model
    strict = create_model(loose.__name__, __base__=(_Strict, loose))
    tool.fn_metadata.arg_model = strict
    tool.parameters = strict.model_json_schema(by_alias=True)
    return tool


def named(refused: ValidationError) -> str:
    """Which arguments were refused, and by which rule; never what was given."""
    errors = refused.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(_told(error) for error in errors)


def _told(error: ErrorDetails) -> str:
    argument, *within = error["loc"]
    steps = [str(step) for step in within if isinstance(step, int)]
    field = ".".join([str(argument) if _NAME.fullmatch(str(argument)) else "an argument", *steps])
    return f"{field}: {'unknown argument' if error['type'] == _UNKNOWN else error['msg']}"
