"""Rules: a deny of any source wins, else the highest source decides; an unreadable rule is reported."""

import pytest

from agent.permission_rules import BadRule, Source, Verdict, host_outside, parse_rule, ruling_of


def rule(text: str, verdict: Verdict = Verdict.ALLOW, source: Source = Source.LOCAL):
    return parse_rule(text, verdict, source)


def test_a_rule_is_about_a_name_a_pattern_or_an_argument():
    assert rule("pay").matches("pay", {}) and not rule("pay").matches("Pay", {})
    assert rule("mcp__*").matches("mcp__files__read", {})
    assert rule("pay(to=acme*)").matches("pay", {"to": "acme ltd"})
    assert not rule("pay(to=acme*)").matches("pay", {"to": "other"})
    assert not rule("pay(to=acme*)").matches("pay", {})
    assert rule("pay(amount=12)").matches("pay", {"amount": 12})


@pytest.mark.parametrize("verdict", [Verdict.DENY, Verdict.ASK])
@pytest.mark.parametrize(
    "given",
    [
        "evil inc",
        " Evil Inc",
        "EVIL\t inc ",
        "\uff45vil inc",
        "ev\u200bil inc",
        "ev\u200dil inc",
        "ev\u034fil\u3164 inc",
        ["x", "Evil inc"],
        {"name": "Evil inc", "bank": [["x"]]},
    ],
)
def test_a_deny_by_argument_is_not_evaded_by_writing_it_otherwise(verdict: Verdict, given: object):
    assert rule("pay(to= Evil  inc*)", verdict).matches("pay", {"to": given})
    assert not rule("pay(to=evil inc*)", verdict).matches("pay", {"to": "not evil inc"})
    assert (given == "evil inc") == rule("pay(to=evil inc*)").matches("pay", {"to": given})


@pytest.mark.parametrize("text", ["", "pay it", "pay(", "pay(to)", "pay(to=a)(b=c)", "p" * 200])
def test_what_is_no_rule_is_told(text: str):
    with pytest.raises(BadRule, match=r"TOOL\(ARGUMENT=PATTERN\)"):
        rule(text)


@pytest.mark.parametrize("denier", list(Source))
def test_a_deny_of_any_source_holds(denier: Source):
    rules = [rule("pay", Verdict.ALLOW, Source.POLICY), rule("p*", Verdict.DENY, denier)]
    found = ruling_of(rules, "pay", {})
    assert found is not None and found.verdict is Verdict.DENY


@pytest.mark.parametrize(("high", "low"), [(a, b) for n, a in enumerate(Source) for b in list(Source)[n + 1 :]])
def test_the_higher_source_decides(high: Source, low: Source):
    for rules in (
        [rule("pay", Verdict.ASK, high), rule("pay", Verdict.ALLOW, low)],
        [rule("pay", Verdict.ALLOW, low), rule("pay", Verdict.ASK, high)],
    ):
        found = ruling_of(rules, "pay", {})
        assert found is not None and found.verdict is Verdict.ASK


def test_within_a_source_allow_goes_before_ask():
    rules = [rule("pay*", Verdict.ASK), rule("pay(to=acme)", Verdict.ALLOW)]
    found, other = ruling_of(rules, "pay", {"to": "acme"}), ruling_of(rules, "pay", {"to": "x"})
    assert found is not None and found.verdict is Verdict.ALLOW
    assert other is not None and other.verdict is Verdict.ASK
    assert None is ruling_of(rules, "read", {})


@pytest.mark.parametrize(
    ("given", "outside"),
    [
        ({"url": "https://acme.com/a"}, None),
        ({"url": "HTTPS://Shop.ACME.com:8443/a?b=//c.acme.com"}, None),
        ({"url": "acme.com/path"}, None),
        ({"url": "https://acme.com./"}, None),
        ({"words": "no address at all", "count": 3, "more": None}, None),
        ({"url": "https://evil.com/acme.com"}, "evil.com"),
        ({"url": "https://notacme.com"}, "notacme.com"),
        ({"url": "https://acme.com.evil.com"}, "acme.com.evil.com"),
        ({"url": "https://acme.com@evil.com/"}, "evil.com"),
        ({"url": "https://acme.com:pw@evil.com"}, "evil.com"),
        ({"url": "//evil.com"}, "evil.com"),
        ({"url": "https:/\\\\evil.com"}, "evil.com"),
        ({"url": "evil.com"}, "evil.com"),
        ({"target_host": "evil.com"}, "evil.com"),
        ({"words": "look at ftp://evil.com and at https://acme.com"}, "evil.com"),
        ({"words": "https://acme.com, https://evil.com"}, "evil.com"),
        ({"pages": [{"links": ["https://acme.com", "https://10.0.0.1/x"]}]}, "10.0.0.1"),
        ({"url": "http://[::1]/"}, "[::1]"),
        ({"url": "https://acme.com\\@evil.com"}, "acme.com\\@evil.com"),
        ({"url": "https:/evil.com"}, "https:/evil.com"),
    ],
)
def test_an_address_outside_of_the_domains_is_named(given: dict[str, object], outside: str | None):
    assert outside == host_outside(given, ["Acme.com"])


def test_a_flood_of_addresses_is_not_waved_through():
    assert host_outside({"text": " ".join(["https://acme.com"] * 300)}, ["acme.com"])
    assert host_outside({"url": "https://acme.com"}, []) == "acme.com"
