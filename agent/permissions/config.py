"""What an operator says about permissions; what it leads to is `chain`'s matter."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agent.permissions.chain import Confirm, Mode
from agent.permissions.rules import BadRule, PermissionRule, Source, Verdict, parse_rule


class RulesConfig(BaseModel):
    """Rules of one source."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    deny: tuple[str, ...] = ()
    """Calls that never run."""
    allow: tuple[str, ...] = ()
    """Calls that run unasked."""
    ask: tuple[str, ...] = ()
    """Calls that the person confirms, each time."""

    @field_validator("deny", "allow", "ask")
    @classmethod
    def _are_rules(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            try:
                parse_rule(text, Verdict.DENY, Source.LOCAL)
            except BadRule as bad:
                raise ValueError(str(bad)) from None
        return texts

    def rules(self, source: Source) -> Iterator[PermissionRule]:
        """What stands here, as rules of this source."""
        for verdict, texts in ((Verdict.DENY, self.deny), (Verdict.ALLOW, self.allow), (Verdict.ASK, self.ask)):
            for text in texts:
                yield parse_rule(text, verdict, source)


class AutoConfig(BaseModel):
    """What the small model of mode `auto` goes by."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    """Its name, as under [model]; None: the one that answers."""
    allow: tuple[str, ...] = ()
    """What may run unasked, in words."""
    soft_deny: tuple[str, ...] = ()
    """What is denied, in words."""
    environment: tuple[str, ...] = ()
    """What it should know of where it runs, in words."""
    least_confidence: float = Field(default=0.8, ge=0, le=1)
    """How sure it has to be; below that a person is asked."""
    timeout_s: float = Field(default=10.0, gt=0)
    """Seconds it may take; then a person is asked."""


class PermissionsConfig(RulesConfig):
    """Which calls run, which are asked for, and which never run. The rules here are of the source `local`."""

    mode: Mode = Mode.DEFAULT
    """What becomes of a call that no rule is about: default | plan | bypass | auto."""
    confirm: Confirm = Confirm.NEVER
    """Whether an allowed call is asked for all the same: never | risky | always."""
    expires_s: float = Field(default=600.0, gt=0, le=86_400)
    """Seconds a question holds; then it is denied."""
    sources: Mapping[Source, RulesConfig] = Field(default_factory=dict)
    """Rules of another rank, by source; those of `policy` stand above all others."""
    auto: AutoConfig = AutoConfig()

    def all_rules(self) -> list[PermissionRule]:
        """The rules of every source."""
        found = list(self.rules(Source.LOCAL))
        for source, table in self.sources.items():
            found += table.rules(source)
        return found
