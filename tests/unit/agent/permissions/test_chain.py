"""The chain: hook, rules, the tool's own check, the mode; a score only tightens."""

from itertools import product

import pytest

from agent.permission_rules import Mode, PermissionRule, Source, TurnPermissions, Verdict, parse_rule
from agent.permissions.chain import SAID_NO, CallFacts, Confirm, PermissionChain, SecurityRisk

ALLOW, DENY, ASK, PASS = Verdict.ALLOW, Verdict.DENY, Verdict.ASK, Verdict.PASSTHROUGH


def call(**facts):
    return CallFacts(**({"tool": "pay", "given": {}, "read_only": False, "contained": False} | facts))


def chain(*rules: tuple[Verdict, Source], **settings):
    return PermissionChain(rules=[parse_rule("pay", verdict, source) for verdict, source in rules], **settings)


@pytest.mark.parametrize(
    ("mode", "outside", "own", "reading"),
    [
        (Mode.DEFAULT, ASK, ALLOW, ALLOW),
        (Mode.PLAN, DENY, DENY, ALLOW),
        (Mode.BYPASS, ALLOW, ALLOW, ALLOW),
        (Mode.AUTO, ASK, ALLOW, ALLOW),
    ],
)
def test_without_a_word_the_mode_decides(mode: Mode, outside: Verdict, own: Verdict, reading: Verdict):
    decide = chain(mode=mode).decide
    assert outside is decide(call()).verdict
    assert own is decide(call(contained=True)).verdict
    assert reading is decide(call(contained=True, read_only=True)).verdict
    assert (mode is Mode.AUTO) == decide(call()).judged


def test_a_rule_goes_before_the_tools_own_check_and_that_before_the_mode():
    assert DENY is chain(mode=Mode.BYPASS).decide(call(own=DENY)).verdict
    assert ALLOW is chain().decide(call(own=ALLOW)).verdict
    assert ALLOW is chain((ALLOW, Source.LOCAL)).decide(call(own=DENY)).verdict


def test_a_hook_goes_before_all_but_a_deny_and_policy():
    assert DENY is chain((ALLOW, Source.POLICY)).decide(call(hook=DENY)).verdict
    assert ALLOW is chain((ASK, Source.PROJECT)).decide(call(hook=ALLOW)).verdict
    assert DENY is chain((DENY, Source.SESSION)).decide(call(hook=ALLOW)).verdict
    assert ASK is chain((ASK, Source.POLICY)).decide(call(hook=ALLOW)).verdict
    assert ASK is chain((ALLOW, Source.LOCAL)).decide(call(hook=ASK)).verdict


def test_plan_changes_nothing_whatever_a_rule_allows():
    assert DENY is chain((ALLOW, Source.POLICY), mode=Mode.PLAN).decide(call()).verdict


@pytest.mark.parametrize("source", Source)
def test_always_is_offered_unless_a_rule_asks(source: Source):
    assert not chain((ASK, source)).decide(call()).may_remember
    assert chain().decide(call()).may_remember


TURNS = pytest.mark.parametrize("source", [Source.COMMAND, Source.SESSION])


def own(*rules: tuple[Verdict, Source], mode: Mode | None = None, text: str = "pay") -> TurnPermissions:
    return TurnPermissions(tuple(parse_rule(text, verdict, source) for verdict, source in rules), mode)


@TURNS
def test_an_allow_of_the_turn_spares_a_question_that_always_would_spare(source: Source):
    allows = own((ALLOW, source))
    assert ALLOW is chain().of_turn(allows).decide(call()).verdict
    assert ALLOW is chain(mode=Mode.AUTO).of_turn(allows).decide(call()).verdict
    assert ALLOW is chain().of_turn(allows).decide(call(own=ASK)).verdict
    assert ASK is chain().of_turn(own((ALLOW, source), text="other")).decide(call()).verdict


@TURNS
@pytest.mark.parametrize(
    ("rules", "settings", "facts", "verdict"),
    [
        ([(DENY, Source.POLICY)], {}, {}, DENY),
        ([(ASK, Source.POLICY)], {}, {}, ASK),
        ([(ASK, Source.LOCAL)], {}, {}, ASK),
        ([], {}, {"own": DENY}, DENY),
        ([], {}, {"hook": DENY}, DENY),
        ([], {}, {"hook": ASK}, ASK),
        ([], {}, {"destructive": True}, ASK),
        ([], {}, {"own": ASK, "asks_each_time": True}, ASK),
        ([], {"mode": Mode.PLAN}, {}, DENY),
        ([], {"confirm": Confirm.ALWAYS, "mode": Mode.BYPASS}, {}, ASK),
        ([], {"confirm": Confirm.RISKY}, {"risk": SecurityRisk.HIGH}, ASK),
        ([(ALLOW, Source.LOCAL)], {"confirm": Confirm.RISKY}, {"risk": SecurityRisk.HIGH}, ASK),
    ],
)
def test_an_allow_of_the_turn_loosens_nothing_else(source: Source, rules, settings, facts, verdict: Verdict):
    loosened = chain(*rules, **settings).of_turn(own((ALLOW, source))).decide(call(**facts))
    assert verdict is loosened.verdict


@TURNS
def test_a_turn_may_deny_and_ask_whatever_is_allowed(source: Source):
    allowed = chain((ALLOW, Source.POLICY), mode=Mode.BYPASS)
    assert DENY is allowed.of_turn(own((DENY, source))).decide(call()).verdict
    assert ASK is allowed.of_turn(own((ASK, source))).decide(call()).verdict
    assert ASK is allowed.of_turn(own((ASK, Source.SESSION), (ALLOW, Source.COMMAND))).decide(call()).verdict
    assert ALLOW is allowed.of_turn(own((ASK, source), (ALLOW, source))).decide(call()).verdict


def test_the_mode_of_a_turn_goes_before_the_configured_one():
    assert DENY is chain(mode=Mode.BYPASS).of_turn(own(mode=Mode.PLAN)).decide(call()).verdict
    assert ALLOW is chain(mode=Mode.PLAN).of_turn(own(mode=Mode.BYPASS)).decide(call()).verdict
    assert DENY is chain(mode=Mode.PLAN).of_turn(own((ALLOW, Source.SESSION))).decide(call()).verdict


def test_a_denial_of_one_call_holds_for_that_call_alone():
    denied = TurnPermissions((PermissionRule(DENY, Source.SESSION, "pay", fingerprint="abc"),))
    decide = chain((ALLOW, Source.LOCAL)).of_turn(denied).decide
    assert (DENY, SAID_NO) == ((said := decide(call(fingerprint="abc"))).verdict, said.why)
    assert ALLOW is decide(call(fingerprint="abd")).verdict
    assert ALLOW is decide(call()).verdict


@pytest.mark.parametrize(
    ("confirm", "risk", "outside", "own"),
    [
        (Confirm.NEVER, SecurityRisk.HIGH, ALLOW, ALLOW),
        (Confirm.RISKY, SecurityRisk.LOW, ALLOW, ALLOW),
        (Confirm.RISKY, SecurityRisk.MEDIUM, ALLOW, ALLOW),
        (Confirm.RISKY, SecurityRisk.HIGH, ASK, ASK),
        (Confirm.RISKY, SecurityRisk.UNKNOWN, ASK, ALLOW),
        (Confirm.ALWAYS, SecurityRisk.LOW, ASK, ASK),
    ],
)
def test_a_score_and_confirmation_tighten_what_is_allowed(
    confirm: Confirm, risk: SecurityRisk, outside: Verdict, own: Verdict
):
    decide = chain((ALLOW, Source.LOCAL), confirm=confirm).decide
    assert outside is decide(call(risk=risk)).verdict
    assert own is decide(call(risk=risk, contained=True)).verdict
    assert ALLOW is decide(call(risk=risk, contained=True, read_only=True)).verdict
    undone = call(risk=SecurityRisk.LOW, contained=True, destructive=True)
    assert (ALLOW if confirm is Confirm.NEVER else ASK) is decide(undone).verdict


def test_a_score_never_loosens():
    strict = {ALLOW: 0, ASK: 1, DENY: 2}
    for mode, confirm, hook, own, said in product(Mode, Confirm, Verdict, Verdict, (ALLOW, ASK, DENY, None)):
        rules = [] if said is None else [(said, Source.LOCAL)]
        plain = chain(*rules, mode=mode).decide(call(hook=hook, own=own)).verdict
        for risk in SecurityRisk:
            scored = chain(*rules, mode=mode, confirm=confirm).decide(call(hook=hook, own=own, risk=risk)).verdict
            assert strict[scored] >= strict[plain]


def test_a_call_that_names_a_host_outside_of_the_domains_is_denied():
    there, away = {"url": "https://a.acme.com"}, {"url": "https://evil.com"}
    listed = chain((ALLOW, Source.POLICY), mode=Mode.BYPASS, domains=["acme.com"]).decide
    assert ALLOW is listed(call(given=there)).verdict
    refused = listed(call(given=away, hook=ALLOW))
    assert (DENY, True) == (refused.verdict, "may not reach evil.com" in refused.why)
    assert DENY is listed(call(given=away, read_only=True, contained=True)).verdict
    assert ALLOW is listed(call(given=away, contained=True)).verdict
    assert ALLOW is chain(mode=Mode.BYPASS).decide(call(given=away)).verdict
