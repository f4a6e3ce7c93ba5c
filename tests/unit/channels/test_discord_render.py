"""Discord's Markdown: nothing is markup by accident, and it pings no one."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.discord.limits import DISCORD_LIMITS
from channels.discord.render import DiscordRenderer
from channels.markdown.parse import parse
from channels.markdown.tree import CodeBlock, Paragraph, Span, Style
from channels.simulators.discord.checks import checked_content, find_pings
from gateway.delivery.splitter import split
from tests.fakes.amounts import share
from tests.fakes.discord_markdown import faults, seen
from tests.fakes.markdown_documents import Document, documents

DISCORD = DiscordRenderer()
GENERATED = settings(max_examples=share(80), deadline=None, suppress_health_check=list(HealthCheck))
NO_PINGS = {"parse": []}


def rendered(markdown: str) -> str:
    return DISCORD.render(parse(markdown)).text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**a** *b* ~~c~~ `d`", "**a** _b_ ~~c~~ `d`"),
        ("# One\n\n### Three\n\n#### Four", "# One\n\n### Three\n\n**Four**"),
        ("```python\nx\n```", "```python\nx\n```"),
        ("> said\n>\n> > deeper", "> said\n> \n> \\> deeper"),
        ("[a b](https://x.y/z)", "[a b](https://x.y/z)"),
        ("[https://x.y](https://x.y)", "<https://x.y>"),
        ("[paypal.com](https://evil.example)", "paypal.com (<https://evil.example>)"),
        ("- a\n- b\n  - c", "- a\n- b\n  - c"),
        ("7. a\n8. b", "7. a\n8. b"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
        ("a\n\n***\n\nb", "a\n\n──────────\n\nb"),
        ("**a *b*** *c*", "**a _b_** _c_"),
        ("plain", "plain"),
    ],
)
def test_markdown_becomes_discords(markdown, text):
    assert text == rendered(markdown)


@pytest.mark.parametrize(
    "text",
    [
        "snake_case_word and __init__",
        "2 * 3 * 4 ** 5",
        "~~not struck~~ and ~tilde~",
        "||no spoiler||",
        "`no code` and ```no fence```",
        "[no](link) and [x]",
        "<@123> <@&5> <#7> <:smile:9> <t:1> </log:3>",
        "@everyone and @here",
        "# no title",
        "-# no subtext",
        "- no list\n* none\n+ none",
        "> no quote\n>>> none",
        "1. no list\n23) none",
        "back\\slash \\* \\\\",
        "a _b_c *d*e **f**g",
    ],
)
def test_literal_text_stays_literal(text):
    """Cover A62."""
    for content in (DISCORD.plain(text).text, DISCORD.render([Paragraph((Span(text),))]).text):
        shown = seen(content)
        assert text == shown.text
        assert set() == shown.kinds()
        assert () == find_pings(content, NO_PINGS)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("see https://x.y/a_b_c?d=1&e=*2", "https://x.y/a_b_c?d=1&e=*2"),
        ("(https://x.y/a_(b)).", "https://x.y/a_(b)"),
        ("https://x.y/a<@123>", "https://x.y/a"),
        ("https://x.y/a<:smile:9>", "https://x.y/a"),
        ("https://x.y/[a]", "https://x.y/"),
        ("**https://x.y/a**", "https://x.y/a"),
        ("http://`a`", None),
        ("http://a.b @everyonehttps://", "http://a.b"),
        ("http://@everyonehttps://", None),
    ],
)
def test_bare_urls_stay_whole_and_take_in_nothing_else(text: str, url: str | None):
    shown = seen(DISCORD.plain(text).text)
    assert text == shown.text
    assert ([] if url is None else [f"<{url}>"]) == shown.of("autolink")
    assert {"autolink"} >= shown.kinds()


def test_what_follows_a_url_is_markup_still():
    spans = (
        Span("https://x.y"),
        Span("a", Style.CODE),
        Span("http://"),
        Span("b", Style.BOLD),
        Span("c", link="https://z.y"),
    )
    shown = seen(DISCORD.render([Paragraph(spans)]).text)
    assert ["a"] == shown.of("code")
    assert ["b"] == shown.of("strong")
    assert ["c"] == shown.of("link")
    assert "<https://x.y/a_b>" == DISCORD.render([Paragraph((Span("https://x.y/a_b", Style.ITALIC),))]).text
    assert "[a](https://x.y/%28b%29)" == rendered("[a](<https://x.y/(b)>)")
    assert "[a](https://пример.рф/%2A)" == rendered("[a](<https://пример.рф/*>)")


def test_a_link_ends_where_it_ends():
    shown = seen(DISCORD.render([Paragraph((Span("a", link="https://x.y"), Span(" and ](b)")))]).text)
    assert ("a and ](b)", ["a"]) == (shown.text, shown.of("link"))


def test_looks_side_by_side_are_told_apart():
    spans = (
        Span("a", Style.BOLD),
        Span("b", Style.BOLD, "https://x.y"),
        Span("c", Style.ITALIC),
        Span("d"),
        Span(" e ", Style.BOLD),
        Span("f", Style.BOLD | Style.ITALIC),
        Span("`g", Style.CODE),
        Span("h", Style.CODE),
    )
    shown = seen(DISCORD.render([Paragraph(spans)]).text)
    assert "abcd e f `g h" == re.sub(r"\s+", " ", shown.text)
    assert ["c", "f"] == shown.of("em")
    assert ["`g", "h"] == shown.of("code")


def test_struck_words_end_before_italics():
    shown = seen(DISCORD.render([Paragraph((Span("a", Style.STRIKE), Span("b", Style.ITALIC), Span(" c ~~")))]).text)
    assert (["a"], ["b"]) == (shown.of("strike"), shown.of("em"))


def test_code_cannot_end_early():
    block = DISCORD.render([CodeBlock("c++", "a\n```\nb````\n")]).text
    assert ["a\n```\nb````"] == [text.replace("\u200b", "") for text in seen(block).of("fence")]
    assert block.startswith("```c++\n")
    assert DISCORD.render([CodeBlock("not a language", "x")]).text.startswith("```\n")
    inline = seen(DISCORD.render([Paragraph((Span("a ```b", Style.CODE),))]).text)
    assert ["a ```b"] == [text.replace("\u200b", "") for text in inline.of("code")]
    assert [] == faults(DISCORD.render([CodeBlock("", "")]).text)


@GENERATED
@given(document=documents(), max_text=st.integers(300, 2000))
def test_every_generated_document_arrives_whole(document: Document, max_text: int):
    """Cover S9."""
    limits = type(DISCORD_LIMITS)(max_text=max(max_text, len(document.text) // 20), unit=DISCORD_LIMITS.unit)
    parts = split(document.text, DISCORD, limits)
    for one in parts:
        assert [] == faults(one.rendered.text, limits.max_text)
        assert one.rendered.text == checked_content({"content": one.rendered.text})
        assert () == find_pings(one.rendered.text, NO_PINGS)
    words = [word for one in parts for word in re.findall(r"w\d+", seen(one.rendered.text).text)]
    assert document.words == words


@GENERATED
@given(text=st.text(st.sampled_from("abc XYZ\n\t*_~#>-+|[]()!<&;:@/\\`.123😀é\u0301\u05d0\u200d\ud83d"), max_size=1500))
def test_every_generated_noise_arrives_valid(text: str):
    for one in split(text, DISCORD, type(DISCORD_LIMITS)(max_text=300, unit=DISCORD_LIMITS.unit)):
        assert [] == faults(one.rendered.text, 300)
        assert not {"spoiler", "mention", "emoji", "underline"} & seen(one.rendered.text).kinds()


@GENERATED
@given(text=st.text(st.sampled_from("ab1 \n*_~#>-+|[]()<:@\\`."), max_size=200))
def test_plain_text_is_shown_as_it_is(text: str):
    assert text.strip() == seen(DISCORD.plain(text).text).text.strip()


GOLDEN = Path(__file__).parents[2] / "golden" / "markdown"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.md")), ids=lambda path: path.stem)
def test_an_answer_looks_as_it_did(path: Path):
    text = rendered(path.read_text(encoding="utf-8"))
    assert path.with_suffix(".discord.txt").read_text(encoding="utf-8") == text + "\n"
