"""What differs between a stack to throw away and one to keep."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import RemovalPolicy


@dataclass(frozen=True)
class Stage:
    """One deployment of the stack: `dev` is destroyed with it, `prod` outlives it."""

    name: str
    protected: bool

    @classmethod
    def named(cls, name: str) -> Stage:
        """The stage of a name in `cdk.json`. Raises `ValueError` for any other name."""
        if name not in STAGES:
            raise ValueError(f"unknown stage {name!r}: choose one of {', '.join(STAGES)}")
        return STAGES[name]

    @property
    def removal(self) -> RemovalPolicy:
        """What becomes of a resource that holds state when the stack no longer names it."""
        return RemovalPolicy.RETAIN if self.protected else RemovalPolicy.DESTROY


STAGES = {
    "dev": Stage("dev", protected=False),
    "prod": Stage("prod", protected=True),
}
