"""Slack's Markdown and mrkdwn: the whole answer, always accepted, without pings."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import Rendered
from channels.simulators.slack.checks import Content, check_content
from channels.slack.limits import MRKDWN_LIMITS, SLACK_LIMITS
from channels.slack.payloads import content
from channels.slack.render import MARKDOWN, MRKDWN, SlackRenderer
from gateway.delivery.splitter import split
from tests.fakes.amounts import share
from tests.fakes.markdown_documents import Document, documents

GENERATED = settings(max_examples=share(80), deadline=None, suppress_health_check=list(HealthCheck))
RENDERERS = {MARKDOWN: SlackRenderer(MARKDOWN), MRKDWN: SlackRenderer(MRKDWN)}
LIMITS = {MARKDOWN: SLACK_LIMITS, MRKDWN: MRKDWN_LIMITS}
DIALECTS = pytest.mark.parametrize("dialect", [MARKDOWN, MRKDWN])
NOISE = st.text(st.sampled_from("abc XYZ\n\t*_~#>-+|[]()!<&;@\\`.123CU:/^😀é\u0301\u05d0\u200d\ud83d"), max_size=1500)
PINGS = st.sampled_from(
    [
        "<!channel>",
        "<!here|x>",
        "<@U123>",
        "<!subteam^S1>",
        "`<!everyone>`",
        "[a](<!channel>)",
        "&lt;!here&gt;",
        "\\<@U1>",
    ]
)


def rendered(markdown: str, dialect: str = MARKDOWN) -> str:
    return RENDERERS[dialect].render(parse(markdown)).text


def as_taken(one: Rendered) -> Content:
    body = content(one)
    return check_content(body["text"], body["blocks"], updated=True)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* ~~c~~ `d`", "**a** *b* ~~c~~ `d`"),
        ("# Title", "# Title"),
        ("```python\nx < 1\n```", "```python\nx < 1\n```"),
        ("> said\n> more", "> said\n> more"),
        ("[a **b**](https://x.y)", "[a **b**](https://x.y)"),
        ("- a\n- b", "- a\n- b"),
        ("7. a\n8. b", "7. a\n8. b"),
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("2 \\* 3", "2 \\* 3"),
        ("\\# no title", "\\# no title"),
        ("1\\. no list", "1\\. no list"),
        ("snake\\_case", "snake\\_case"),
        ("see https://x.y/a_b now", "see https://x.y/a_b now"),
        ("\\https://x.y/\\_a_\\*b\\*", "\\\\https://x.y/\\_a\\_\\*b\\*"),
        ("https://x.y/\\[bank.com](https://evil.example)", "https://x.y/\\[bank.com\\](https://evil.example)"),
        ("| a |\n|---|\n| b |", "```\na\n-\nb\n```"),
        ("````\n```\n````", "````\n```\n````"),
        ("a `` ` `` b", "a `` ` `` b"),
    ],
)
def test_looks_become_markdown(markdown, expected):
    assert expected == rendered(markdown)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* ~~c~~ `d`", "*a* _b_ ~c~ `d`"),
        ("# Title", "*Title*"),
        ("```python\nx < 1\n```", "```\nx &lt; 1\n```"),
        ("> said", "> said"),
        ("[a & b](https://x.y/&)", "<https://x.y/&amp;|a &amp; b>"),
        ("- a\n- b", "• a\n• b"),
        ("a <!channel> b", "a &lt;!channel&gt; b"),
    ],
)
def test_looks_become_mrkdwn(markdown, expected):
    assert expected == rendered(markdown, MRKDWN)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "slack://open"])
@DIALECTS
def test_dangerous_links_are_text(url, dialect):
    """Cover A68."""
    text = rendered(f"[press]({url})", dialect)
    assert "press" in text
    assert f"({url}" not in text
    assert f"<{url}" not in text


@DIALECTS
@GENERATED
@given(document=documents())
def test_generated_documents_arrive_whole(dialect: str, document: Document):
    parts = split(document.text, RENDERERS[dialect], LIMITS[dialect])
    shown = [as_taken(part.rendered) for part in parts]
    assert [] == [ping for one in shown for ping in one.pings]
    assert document.words == re.findall(r"w\d+", " ".join(one.text for one in shown))


@GENERATED
@given(document=documents())
def test_markdown_reads_back_as_it_was_meant(document: Document):
    text = rendered(document.text)
    again = plain_text(parse(text))
    assert document.words == re.findall(r"w\d+", again)


@DIALECTS
@GENERATED
@given(noise=st.lists(st.one_of(NOISE, PINGS), max_size=4).map(" ".join))
def test_noise_is_taken_without_pings(dialect: str, noise: str):
    """Cover A63."""
    for part in split(noise, RENDERERS[dialect], LIMITS[dialect]):
        assert () == as_taken(part.rendered).pings
        assert () == as_taken(Rendered(part.plain)).pings


@DIALECTS
def test_forty_kilobytes_of_code_come_in_closed_fences(dialect: str):
    lines = [f"line {n} of the code" for n in range(2_000)]
    parts = split("```python\n" + "\n".join(lines) + "\n```", RENDERERS[dialect], LIMITS[dialect])
    assert 4 <= len(parts)
    said = []
    for part in parts:
        assert part.rendered.text.startswith("```")
        assert part.rendered.text.endswith("\n```")
        said += part.rendered.text.split("\n")[1:-1]
        as_taken(part.rendered)
    assert lines == said


def test_long_answers_have_a_short_text_for_notifications():
    body = content(RENDERERS[MARKDOWN].render(parse("&" * 5_000)))
    assert 1_001 >= len(str(body["text"]))
    assert str(body["text"]).removesuffix("…").endswith("&amp;")
