"""Cost as the operator reads it."""

from datetime import date
from decimal import Decimal
from typing import Any

from agent.prices import TokenPrice, TokenPrices
from agent.transcript import EndReason, ModelResponded, ToolCall, ToolReturned, TurnEnded, TurnStarted, Usage, UserItem
from gateway.cli.routes import route_lines
from gateway.cli.usage import BAR_CHARS, CHART_DAYS, chart, cost_text, total_text
from gateway.operators.usage import sums_by_weight
from gateway.store.usage import RecordedTurn


def row(day: str, tokens: int, cost_microusd: int | None = None, unpriced: int = 0) -> dict[str, object]:
    tokens_of = {"input_tokens": tokens, "output_tokens": 0}
    return {"day": day, **tokens_of, "cost_microusd": cost_microusd, "unpriced": unpriced}


def test_unknown_is_said_and_is_not_nothing():
    assert "$1.234567" == cost_text([row("d", 1, 1_000_000), row("d", 1, 234_567)])
    assert "$0.000007 and 2 calls of unknown cost" == cost_text([row("d", 1, 7, 2)])
    assert "cost unknown" == cost_text([row("d", 1, None, 1)])
    assert "$0" == cost_text([])
    assert "Together: 3 calls, $0.000007." == total_text(
        [{"calls": 2, **row("d", 1, 3)}, {"calls": 1, **row("d", 1, 4)}]
    )


def test_a_chart_has_a_line_a_day_and_its_longest_bar_is_the_busiest_day():
    rows = [row("2026-11-01", 9), row("2026-11-09", 1, 5), row("2026-11-22", 3000, 7), row("2026-11-22", 1000, None, 1)]
    lines = chart(rows, date(2026, 11, 22))
    assert (CHART_DAYS, "2026-11-09") == (len(lines), lines[0][:10])
    assert [1, 0, BAR_CHARS] == [line.count("█") for line in (lines[0], lines[1], lines[-1])]
    assert lines[-1].endswith("4,000  $0.000007 and 1 call of unknown cost")


def test_a_chart_of_no_tokens_is_flat():
    assert not any("█" in line for line in chart([row("2026-11-22", 0)], date(2026, 11, 22)))


def recorded(words: str, *calls: Usage, tools: int = 0, session: str = "s") -> RecordedTurn:
    asked = tuple(ToolCall(f"{words}{n}", "look", "{}") for n in range(tools))
    steps = [ModelResponded(0, "", asked), *(ToolReturned(0, f"k{call.id}", call.id, "look", "{}") for call in asked)]
    events = (
        TurnStarted((UserItem(words),)),
        *(steps if tools else ()),
        ModelResponded(1, "Yes."),
        TurnEnded(EndReason.COMPLETED, "Yes."),
    )
    return RecordedTurn(session, "ana", events, calls)


def weigh(turns: list[RecordedTurn]) -> dict[str, Any]:
    return sums_by_weight(turns).model_dump(mode="json")


def test_a_report_tells_what_light_turns_would_have_cost_elsewhere():
    priced = Usage(1000, 100, 500, None, cost_microusd=9_000)
    sums = weigh(
        [
            recorded("hello", priced, priced, tools=4),
            recorded("word " * 60, priced),
            recorded("word " * 60, priced, session="another"),
            recorded("int x;", priced),
            recorded("and then?", Usage(70, 7), session="another"),
        ]
    )
    assert (3, 4, 1, 27_000, 3000) == tuple(
        sums["light"][name] for name in ("turns", "calls", "unpriced", "cost_microusd", "input_tokens")
    )
    assert (2, 18_000) == (sums["main"]["turns"], sums["main"]["cost_microusd"])
    tiers = ((2_000, Decimal(99)),)
    cheap = TokenPrices(TokenPrice(Decimal(1), tiers), TokenPrice(Decimal(2)), TokenPrice(Decimal("0.1")))
    report = "\n".join(route_lines(sums, "openai:small", cheap, 7))
    assert "Turns in the last 7 days: 5. Simple turns that would go to openai:small: 3." in report
    assert "They cost $0.027000; at its prices they would have cost $0.002250." in report
    assert "That is $0.024750 less, 55 % of $0.045000 for all turns" in report
    assert "Not included: 1 call of unknown cost." in report
    unknown = route_lines(weigh([recorded("hello", Usage(70, 7))]), "openai:small", cheap, 7)
    assert (2, True) == (len(unknown), "1 call of unknown cost" in unknown[1])
    assert ["No turn was recorded."] == route_lines(weigh([]), "openai:small", cheap, 7)
