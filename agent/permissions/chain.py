"""The chain decides about a call: hook, rules, the tool's own check, the mode; then risk can only tighten it. Pure.

What an operator says about permissions stands here too, as `PermissionsConfig`.
Asking a person, or a small model in mode `auto`, is what an `ASK` or a `judged` leads to, elsewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agent.config import PriceConfig
from agent.permissions.rules import RANKS, BadRule, PermissionRule, Source, Verdict, host_outside, parse_rule, ruling_of


class Mode(StrEnum):
    """The decision about a call that no rule matches."""

    DEFAULT = "default"  # what changes the outside world is asked for
    PLAN = "plan"  # what changes anything is denied, whatever a rule allows
    BYPASS = "bypass"  # everything is allowed
    AUTO = "auto"  # a small model says what it is; a person is asked where that is not sure


class Confirm(StrEnum):
    """When an allowed call still asks for consent."""

    NEVER = "never"
    RISKY = "risky"  # where it cannot be undone, or the model scores it HIGH, or does not score an outside effect
    ALWAYS = "always"  # whatever changes anything


class SecurityRisk(StrEnum):
    """The model's own estimate of a call's danger; it can only tighten the rules."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """The facts of a call on which the decision depends."""

    tool: str
    given: Mapping[str, object]  # its arguments, as they would run
    read_only: bool  # it changes nothing
    contained: bool  # at most the person's own data here
    destructive: bool = False  # what it changes cannot be had back
    hook: Verdict = Verdict.PASSTHROUGH  # what the hooks before it say
    own: Verdict = Verdict.PASSTHROUGH  # what the tool's own check says
    risk: SecurityRisk = SecurityRisk.UNKNOWN


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and its reason."""

    verdict: Verdict  # allow | deny | ask
    why: str  # for the log, and for the model where it is denied
    may_remember: bool = False  # of an ask: an "always" of the person's would settle the next one; what destroys never
    judged: bool = False  # of an ask: a small model may settle it first


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionChain:
    """The rules in force with mode and confirmation; one for many turns at once."""

    rules: Sequence[PermissionRule] = ()
    mode: Mode = Mode.DEFAULT
    confirm: Confirm = Confirm.NEVER
    domains: Sequence[str] | None = None  # None: addresses in arguments are not looked at

    def decide(self, call: CallFacts) -> Ruling:
        """Decide whether a call is allowed, denied or needs consent."""
        if (host := self._foreign_host(call)) is not None:
            return Ruling(Verdict.DENY, f"{call.tool} may not reach {host}, which is in none of its domains")
        ruling = self._by_word(call)
        if self.mode is Mode.PLAN and not call.read_only and ruling.verdict is not Verdict.DENY:
            return Ruling(Verdict.DENY, f"in plan mode nothing is changed, and {call.tool} would")
        ruling = self._tighten(call, ruling)
        return replace(ruling, may_remember=False) if call.destructive else ruling

    def _foreign_host(self, call: CallFacts) -> str | None:
        """Return a note may hold any link: nothing goes there."""
        keeps = call.contained and not call.read_only
        return None if self.domains is None or keeps else host_outside(call.given, self.domains)

    def _by_word(self, call: CallFacts) -> Ruling:
        """Return the decision of a hook, a rule or the tool, else that of the mode."""
        if call.hook is Verdict.DENY:
            return Ruling(Verdict.DENY, f"a hook forbids {call.tool}")
        rule = ruling_of(self.rules, call.tool, call.given)
        if rule is not None and (rule.verdict is Verdict.DENY or rule.source is Source.POLICY):
            return _by_rule(rule)
        if call.hook is not Verdict.PASSTHROUGH:
            return Ruling(call.hook, f"a hook says {call.hook.value} of {call.tool}")
        if rule is not None:
            return _by_rule(rule)
        if call.own is not Verdict.PASSTHROUGH:
            return Ruling(call.own, f"{call.tool} itself says {call.own.value} of this", call.own is Verdict.ASK)
        return self._by_mode(call)

    def _by_mode(self, call: CallFacts) -> Ruling:
        if call.contained or self.mode is Mode.BYPASS:
            return Ruling(Verdict.ALLOW, f"mode {self.mode.value}")
        return Ruling(
            Verdict.ASK, f"{call.tool} changes what is outside", may_remember=True, judged=self.mode is Mode.AUTO
        )

    def _tighten(self, call: CallFacts, ruling: Ruling) -> Ruling:
        """Return a score turns allow into ask, never the other way."""
        if ruling.verdict is not Verdict.ALLOW or call.read_only:
            risky = call.risk is SecurityRisk.HIGH and self.confirm is Confirm.RISKY
            return replace(ruling, may_remember=False, judged=False) if risky else ruling
        if self.confirm is Confirm.ALWAYS:
            return Ruling(Verdict.ASK, f"every call of {call.tool} is confirmed")
        unscored = call.risk is SecurityRisk.UNKNOWN and not call.contained
        if self.confirm is Confirm.RISKY and call.destructive:
            return Ruling(Verdict.ASK, f"what {call.tool} does cannot be undone")
        if self.confirm is Confirm.RISKY and (call.risk is SecurityRisk.HIGH or unscored):
            return Ruling(Verdict.ASK, f"{call.tool} is scored {call.risk.value}")
        return ruling


def _by_rule(rule: PermissionRule) -> Ruling:
    says = "the rules forbid it" if rule.verdict is Verdict.DENY else f"the rules say {rule.verdict.value}"
    why = f"{says} ({rule.text}, {rule.source.value})"
    remember = rule.verdict is Verdict.ASK and RANKS[rule.source] > RANKS[Source.USER]
    return Ruling(rule.verdict, why, may_remember=remember)


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
        """Yield what stands here, as rules of this source."""
        for verdict, texts in ((Verdict.DENY, self.deny), (Verdict.ALLOW, self.allow), (Verdict.ASK, self.ask)):
            for text in texts:
                yield parse_rule(text, verdict, source)


class AutoConfig(BaseModel):
    """Settings of the small model of mode `auto`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    """Its name, as under [model]; None: the one that answers."""
    prices: PriceConfig | None = None
    """What its tokens cost, as under [model.prices]; None: as the table of prices has it."""
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


Domain = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$|^\[[0-9a-fA-F:.]+\]$")]
"""A domain's name, or a machine's address."""


class PermissionsConfig(RulesConfig):
    """Which calls run, which are asked for, and which never run. The rules here are of the source `local`."""

    mode: Mode = Mode.DEFAULT
    """What becomes of a call that no rule is about: default | plan | bypass | auto."""
    confirm: Confirm = Confirm.NEVER
    """Whether an allowed call is asked for all the same: never | risky | always."""
    domains: (
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$|^\[[0-9a-fA-F:.]+\]$")], ...] | None
    ) = None
    """Domains, with all below them, that addresses in a tool call's arguments may name; None: any."""
    expires_s: float = Field(default=600.0, gt=0, le=86_400)
    """Seconds a question holds; then it is denied."""
    sources: Mapping[Source, RulesConfig] = Field(default_factory=dict)
    """Rules of another rank, by source; those of `policy` stand above all others."""
    auto: AutoConfig = AutoConfig()

    def all_rules(self) -> list[PermissionRule]:
        """Return the rules of every source."""
        found = list(self.rules(Source.LOCAL))
        for source, table in self.sources.items():
            found += table.rules(source)
        return found
