"""What an operator says about a hook; finding what it names is the gateway's matter."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent.hooks.points import HookPoint


class HookConfig(BaseModel):
    """One hook: a program, a Python function, or what another distribution offers by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    point: HookPoint | None = None
    """When it is asked; what `use` names knows by itself."""
    command: tuple[str, ...] = ()
    """The program and its arguments; never through a shell."""
    python: str | None = None
    """`package.module:function`."""
    use: str | None = None
    """A name among the entry points tenk.hooks."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of tools' names, where the point is about tools."""
    timeout_s: float = Field(default=5.0, gt=0, le=600)
    """Seconds it may take; then it has failed, and a program is killed with all that it started."""
    required: bool = True
    """Whether a tool call or a message is denied when the hook before it fails."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        ways = [name for name in ("command", "python", "use") if getattr(self, name)]
        if len(ways) != 1:
            raise ValueError("a hook is one of: command, python, use")
        if self.use is None and self.point is None:
            raise ValueError(f"a hook needs its point; there are {', '.join(HookPoint)}")
        if self.use is not None and self.point is not None:
            raise ValueError("what a name stands for has its own point; leave it out")
        return self
