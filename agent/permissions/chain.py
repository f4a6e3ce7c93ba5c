"""The decision about a call: hook, rules, the tool's own check, the mode; then risk can only tighten it. Pure.

It also has the operator's settings, `PermissionsConfig`. Others act on the decision: they ask a person, or a small
model in mode `auto`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agent.config import PriceConfig
from agent.permission_rules import (
    BadRule,
    Mode,
    PermissionRule,
    Source,
    TurnPermissions,
    Verdict,
    host_outside,
    parse_rule,
    ruling_of,
)


class Confirm(StrEnum):
    """The allowed calls that are confirmed all the same."""

    NEVER = "never"
    RISKY = "risky"  # irreversible, or scored HIGH, or an outside effect without a score
    ALWAYS = "always"  # every change


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
    fingerprint: str = ""  # of tool and arguments; only needed if a rule is about one call
    read_only: bool  # changes nothing
    contained: bool  # changes at most the person's own data here
    destructive: bool = False  # the change cannot be undone
    hook: Verdict = Verdict.PASSTHROUGH  # decision of the hooks before it
    own: Verdict = Verdict.PASSTHROUGH  # decision of the tool's own check
    asks_each_time: bool = False  # "always" is no answer if that check asks
    risk: SecurityRisk = SecurityRisk.UNKNOWN


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and its reason."""

    verdict: Verdict  # allow | deny | ask
    why: str  # for the log, and for the model if it is denied
    may_remember: bool = False  # of an ask: "always" would settle the next one; never for destructive calls
    judged: bool = False  # of an ask: a small model may decide first


TURN_SOURCES = Source.COMMAND, Source.SESSION
"""Sources whose rules come with a turn.

They may deny, and require a question. An allow of theirs spares the person only a question to which they could answer
"always": it never goes over a rule of the operator's, a hook, or the tool's own check.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionChain:
    """The rules in force with mode and confirmation; one object serves many turns at once."""

    rules: Sequence[PermissionRule] = ()
    mode: Mode = Mode.DEFAULT
    confirm: Confirm = Confirm.NEVER
    domains: Sequence[str] | None = None  # None: hosts in arguments are not checked

    def of_turn(self, own: TurnPermissions) -> "PermissionChain":
        """Return the chain with the rules and the mode of one turn."""
        return self if not own else replace(self, rules=(*self.rules, *own.rules), mode=own.mode or self.mode)

    @property
    def needs_fingerprints(self) -> bool:
        """Return True if a rule is about one exact call."""
        return any(rule.fingerprint for rule in self.rules)

    def decide(self, call: CallFacts) -> Ruling:
        """Decide whether a call is allowed, denied or needs consent."""
        if (host := self._foreign_host(call)) is not None:
            return Ruling(Verdict.DENY, f"{call.tool} may not reach {host}, which is in none of its domains")
        ruling = self._by_word(call)
        if self.mode is Mode.PLAN and not call.read_only and ruling.verdict is not Verdict.DENY:
            return Ruling(Verdict.DENY, f"in plan mode nothing is changed, and {call.tool} would")
        ruling = self._tighten(call, ruling)
        ruling = replace(ruling, may_remember=False) if call.destructive else ruling
        return ruling if ruling.verdict is Verdict.DENY else self._by_turn(call, ruling)

    def _foreign_host(self, call: CallFacts) -> str | None:
        """Return the first host outside the allowed domains; the person's own data here may contain any link."""
        keeps = call.contained and not call.read_only
        return None if self.domains is None or keeps else host_outside(call.given, self.domains)

    def _by_word(self, call: CallFacts) -> Ruling:
        """Return the decision of a hook, a rule or the tool, else that of the mode."""
        if call.hook is Verdict.DENY:
            return Ruling(Verdict.DENY, f"a hook forbids {call.tool}")
        rules = [rule for rule in self.rules if rule.verdict is Verdict.DENY or rule.source not in TURN_SOURCES]
        rule = ruling_of(rules, call.tool, call.given, call.fingerprint)
        if rule is not None and (rule.verdict is Verdict.DENY or rule.source is Source.POLICY):
            return _by_rule(rule)
        if call.hook is not Verdict.PASSTHROUGH:
            return Ruling(call.hook, f"a hook says {call.hook.value} of {call.tool}")
        if rule is not None:
            return _by_rule(rule)
        if call.own is not Verdict.PASSTHROUGH:
            may_remember = call.own is Verdict.ASK and not call.asks_each_time
            return Ruling(call.own, f"{call.tool} itself says {call.own.value} of this", may_remember)
        return self._by_mode(call)

    def _by_turn(self, call: CallFacts, ruling: Ruling) -> Ruling:
        """Apply the rules that came with the turn to a call that is not denied."""
        found = []
        for source in TURN_SOURCES:
            rules = [rule for rule in self.rules if rule.source is source]
            if (rule := ruling_of(rules, call.tool, call.given, call.fingerprint)) is not None:
                found.append(rule)
        if (asks := next((rule for rule in found if rule.verdict is Verdict.ASK), None)) is not None:
            return _by_rule(asks)
        if found and ruling.verdict is Verdict.ASK and ruling.may_remember:
            return _by_rule(found[0])
        return ruling

    def _by_mode(self, call: CallFacts) -> Ruling:
        if call.contained or self.mode is Mode.BYPASS:
            return Ruling(Verdict.ALLOW, f"mode {self.mode.value}")
        return Ruling(
            Verdict.ASK, f"{call.tool} changes what is outside", may_remember=True, judged=self.mode is Mode.AUTO
        )

    def _tighten(self, call: CallFacts, ruling: Ruling) -> Ruling:
        """Turn an allow into an ask if the call's risk requires it; never the other way."""
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


SAID_NO = "the person said no to this. Do not try it another way; ask what they want instead"
"""The reason of a denial by the turn's person."""


def _by_rule(rule: PermissionRule) -> Ruling:
    if rule.fingerprint:
        return Ruling(rule.verdict, SAID_NO)
    says = "the rules forbid it" if rule.verdict is Verdict.DENY else f"the rules say {rule.verdict.value}"
    return Ruling(rule.verdict, f"{says} ({rule.text}, {rule.source.value})")


class RulesConfig(BaseModel):
    """Rules of one source."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    deny: tuple[str, ...] = ()
    """Calls that never run."""
    allow: tuple[str, ...] = ()
    """Calls that run without approval."""
    ask: tuple[str, ...] = ()
    """Calls that the person approves each time."""

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
        """Yield these rules with their source."""
        for verdict, texts in ((Verdict.DENY, self.deny), (Verdict.ALLOW, self.allow), (Verdict.ASK, self.ask)):
            for text in texts:
                yield parse_rule(text, verdict, source)


class AutoConfig(BaseModel):
    """Settings of the small model of mode `auto`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    """Model name, as under [model]; None: the model that answers."""
    prices: PriceConfig | None = None
    """Token prices, as under [model.prices]; None: those of the table."""
    allow: tuple[str, ...] = ()
    """Calls that may run without approval, described in words."""
    soft_deny: tuple[str, ...] = ()
    """Calls that are denied, described in words."""
    environment: tuple[str, ...] = ()
    """Facts about the environment, described in words."""
    least_confidence: float = Field(default=0.8, ge=0, le=1)
    """Minimum confidence; below it a person is asked."""
    timeout_s: float = Field(default=10.0, gt=0)
    """Timeout in seconds; then a person is asked."""


Domain = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$|^\[[0-9a-fA-F:.]+\]$")]
"""Domain name or IP address."""


class PermissionsConfig(RulesConfig):
    """The rules for tool calls. The rules in this table have the source `local`."""

    mode: Mode = Mode.DEFAULT
    """Decision about a call that no rule matches: default | plan | bypass | auto."""
    confirm: Confirm = Confirm.NEVER
    """Allowed calls that are confirmed all the same: never | risky | always."""
    domains: (
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$|^\[[0-9a-fA-F:.]+\]$")], ...] | None
    ) = None
    """Domains, including subdomains, that a tool call's arguments may name; None: any."""
    expires_s: float = Field(default=600.0, gt=0, le=86_400)
    """Seconds until an unanswered question is denied."""
    policy: RulesConfig = RulesConfig()
    """Rules that go before all others, in every tenant; only in the installation's own table."""
    auto: AutoConfig = AutoConfig()

    def all_rules(self) -> list[PermissionRule]:
        """Return the rules of both sources."""
        return [*self.rules(Source.LOCAL), *self.policy.rules(Source.POLICY)]
