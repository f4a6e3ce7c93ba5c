"""Cost as the operator reads it."""

from datetime import date

from gateway.cli.usage import BAR_CHARS, CHART_DAYS, chart, cost_text


def row(day: str, tokens: int, cost_microusd: int | None = None, unpriced: int = 0) -> dict[str, object]:
    """Of what the gateway answers, what is drawn."""
    tokens_of = {"input_tokens": tokens, "output_tokens": 0}
    return {"day": day, **tokens_of, "cost_microusd": cost_microusd, "unpriced": unpriced}


def test_unknown_is_said_and_is_not_nothing():
    """Known cost, part of it, none of it, and no call at all."""
    assert "$1.234567" == cost_text([row("d", 1, 1_000_000), row("d", 1, 234_567)])
    assert "$0.000007 and 2 calls of unknown cost" == cost_text([row("d", 1, 7, 2)])
    assert "cost unknown" == cost_text([row("d", 1, None, 1)])
    assert "$0" == cost_text([])


def test_a_chart_has_a_line_a_day_and_its_longest_bar_is_the_busiest_day():
    """Days of nothing stand there too, older ones do not; little is still seen."""
    rows = [row("2026-11-01", 9), row("2026-11-09", 1, 5), row("2026-11-22", 3000, 7), row("2026-11-22", 1000, None, 1)]
    lines = chart(rows, date(2026, 11, 22))
    assert (CHART_DAYS, "2026-11-09") == (len(lines), lines[0][:10])
    assert [1, 0, BAR_CHARS] == [line.count("█") for line in (lines[0], lines[1], lines[-1])]
    assert lines[-1].endswith("4,000  $0.000007 and 1 call of unknown cost")


def test_a_chart_of_no_tokens_is_flat():
    """Calls that nobody counted have no bar."""
    assert not any("█" in line for line in chart([row("2026-11-22", 0)], date(2026, 11, 22)))
