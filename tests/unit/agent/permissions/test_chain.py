"""The chain: hook, rules, the tool's own check, the mode; a score only tightens."""

from itertools import product

import pytest

from agent.permissions.chain import CallFacts, Confirm, Mode, PermissionChain, SecurityRisk
from agent.permissions.rules import Source, Verdict, parse_rule

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
    assert ALLOW is chain((ALLOW, Source.SESSION)).decide(call(own=DENY)).verdict


def test_a_hook_goes_before_all_but_a_deny_and_policy():
    assert DENY is chain((ALLOW, Source.POLICY)).decide(call(hook=DENY)).verdict
    assert ALLOW is chain((ASK, Source.PROJECT)).decide(call(hook=ALLOW)).verdict
    assert DENY is chain((DENY, Source.SESSION)).decide(call(hook=ALLOW)).verdict
    assert ASK is chain((ASK, Source.POLICY)).decide(call(hook=ALLOW)).verdict
    assert ASK is chain((ALLOW, Source.LOCAL)).decide(call(hook=ASK)).verdict


def test_plan_changes_nothing_whatever_a_rule_allows():
    assert DENY is chain((ALLOW, Source.POLICY), mode=Mode.PLAN).decide(call()).verdict


@pytest.mark.parametrize(
    ("source", "remembers"), [(source, source in (Source.CLI, Source.COMMAND, Source.SESSION)) for source in Source]
)
def test_always_is_offered_where_it_would_hold(source: Source, remembers: bool):
    assert remembers is chain((ASK, source)).decide(call()).may_remember
    assert chain().decide(call()).may_remember


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
