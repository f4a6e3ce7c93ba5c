"""The chain decides about a call: hook, rules, the tool's own check, the mode; then risk can only tighten it. Pure.

Asking a person, or a small model in mode `auto`, is what an `ASK` or a `judged` leads to, elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from agent.permissions.rules import RANKS, PermissionRule, Source, Verdict, ruling_of


class Mode(StrEnum):
    """What becomes of a call that no rule is about."""

    DEFAULT = "default"  # what changes the outside world is asked for
    PLAN = "plan"  # what changes anything is denied, whatever a rule allows
    BYPASS = "bypass"  # everything is allowed
    AUTO = "auto"  # a small model says what it is; a person is asked where that is not sure


class Confirm(StrEnum):
    """Whether an allowed call is asked for all the same."""

    NEVER = "never"
    RISKY = "risky"  # where the model scores it HIGH, or does not score what changes the outside world
    ALWAYS = "always"  # whatever changes anything


class SecurityRisk(StrEnum):
    """How dangerous the model itself says a call is; it can only tighten what the rules say."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What is decided about."""

    tool: str
    given: Mapping[str, object]  # its arguments, as they would run
    read_only: bool  # it changes nothing
    contained: bool  # at most the person's own data here
    hook: Verdict = Verdict.PASSTHROUGH  # what the hooks before it say
    own: Verdict = Verdict.PASSTHROUGH  # what the tool's own check says
    risk: SecurityRisk = SecurityRisk.UNKNOWN


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is decided, and why."""

    verdict: Verdict  # allow | deny | ask
    why: str  # for the log, and for the model where it is denied
    may_remember: bool = False  # of an ask: an "always" of the person's would settle the next one
    judged: bool = False  # of an ask: a small model may settle it first


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionChain:
    """The rules in force with mode and confirmation; one for many turns at once."""

    rules: Sequence[PermissionRule] = ()
    mode: Mode = Mode.DEFAULT
    confirm: Confirm = Confirm.NEVER

    def decide(self, call: CallFacts) -> Ruling:
        """What becomes of a call."""
        ruling = self._by_word(call)
        if self.mode is Mode.PLAN and not call.read_only and ruling.verdict is not Verdict.DENY:
            return Ruling(Verdict.DENY, f"in plan mode nothing is changed, and {call.tool} would")
        return self._tighten(call, ruling)

    def _by_word(self, call: CallFacts) -> Ruling:
        """What was said of it: by a hook, a rule, the tool; else what the mode makes of it."""
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
        """A score turns allow into ask, never the other way."""
        if ruling.verdict is not Verdict.ALLOW or call.read_only:
            risky = call.risk is SecurityRisk.HIGH and self.confirm is Confirm.RISKY
            return replace(ruling, may_remember=False, judged=False) if risky else ruling
        if self.confirm is Confirm.ALWAYS:
            return Ruling(Verdict.ASK, f"every call of {call.tool} is confirmed")
        unscored = call.risk is SecurityRisk.UNKNOWN and not call.contained
        if self.confirm is Confirm.RISKY and (call.risk is SecurityRisk.HIGH or unscored):
            return Ruling(Verdict.ASK, f"{call.tool} is scored {call.risk.value}")
        return ruling


def _by_rule(rule: PermissionRule) -> Ruling:
    says = "the rules forbid it" if rule.verdict is Verdict.DENY else f"the rules say {rule.verdict.value}"
    why = f"{says} ({rule.text}, {rule.source.value})"
    remember = rule.verdict is Verdict.ASK and RANKS[rule.source] > RANKS[Source.USER]
    return Ruling(rule.verdict, why, may_remember=remember)
