"""Telegram's text and entities in its own units."""

import json
import re
from pathlib import Path

import pytest

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.markdown.tree import CodeBlock, Heading, Paragraph, Quote, Span, Style
from channels.messages import Rendered
from channels.telegram.render import TelegramRenderer
from tests.fakes.telegram_entities import faults, mentioned, shown

GOLDEN = Path(__file__).parents[2] / "golden" / "markdown"
TELEGRAM = TelegramRenderer()


def rendered(markdown: str) -> Rendered:
    return TELEGRAM.render(parse(markdown))


@pytest.mark.parametrize(
    ("markdown", "entities"),
    [
        ("**a** *b* ~~c~~ `d`", [("bold", "a"), ("italic", "b"), ("strikethrough", "c"), ("code", "d")]),
        ("# Title", [("bold", "Title")]),
        ("```python\nx\n```", [("pre", "x")]),
        ("> said", [("blockquote", "said")]),
        ("[a **b**](https://x.y)", [("text_link", "a b"), ("bold", "b")]),
        ("**a `b` c**", [("bold", "a"), ("code", "b"), ("bold", "c")]),
        ("[`a`](https://x.y)", [("text_link", "a")]),
        ("> a\n> > b\n>\n> ```\n> c\n> ```", [("blockquote", "a\n\n> b\n\nc"), ("pre", "c")]),
        ("**a *b*** *c*", [("bold", "a b"), ("italic", "b"), ("italic", "c")]),
        ("- **a**\n- b", [("bold", "a")]),
        ("| a |\n|---|\n| b |", [("pre", "a\n-\nb")]),
        ("a ` ` b", []),
        ("plain", []),
    ],
)
def test_looks_become_entities(markdown, entities):
    assert entities == shown(rendered(markdown))
    assert [] == faults(rendered(markdown))


def test_offsets_count_utf16_units():
    """An emoji before an entity moves it by two units, one inside lengthens it by two."""
    assert [{"type": "bold", "offset": 3, "length": 3}] == json.loads(rendered("😀 **😀b**").markup or "")


def test_language_and_url_go_with_their_entity():
    entities = json.loads(rendered("```c++\nx\n```\n\n[a](https://x.y/?q=1&r=2)").markup or "")
    assert [("c++", None), (None, "https://x.y/?q=1&r=2")] == [(e.get("language"), e.get("url")) for e in entities]


@pytest.mark.parametrize(
    ("markdown", "called"),
    [
        ("ask @ada_l, @bob and **@cid**", ["@\u2060ada_l", "@\u2060bob", "@\u2060cid"]),
        ("`@ada` and a@b.de", []),
        ("```\n@ada\n```", []),
        ("@**ada**", ["@\u2060ada"]),
        ("at 5 pm @ home", []),
    ],
)
def test_mentions_are_broken(markdown, called):
    """Cover A62."""
    for one in (rendered(markdown), TELEGRAM.plain(plain_text(parse(markdown)))):
        assert [] == mentioned(one)
        assert [] == faults(one)
    assert called == re.findall("@\u2060\\w+", rendered(markdown).text)
    assert [("bold", "b")] == [one for one in shown(rendered(f"{markdown}\n\n😀 **b**")) if one[1] == "b"]


def test_nothing_marked_is_no_markup():
    assert Rendered("a < b & c") == rendered("a < b & c")


def test_blanks_are_trimmed_and_entities_with_them():
    blocks = [Paragraph((Span("  "), Span(" a ", Style.BOLD), Span("\n"))), CodeBlock("", "  x\n\n")]
    assert [("bold", "a"), ("pre", "  x")] == shown(TELEGRAM.render(blocks))
    assert [("blockquote", "  x"), ("pre", "  x")] == shown(TELEGRAM.render([Quote((CodeBlock("", "  x"),))]))


def test_of_too_many_entities_looks_go_first():
    one = rendered("**a** *b* [c](https://x.y) `d` " * 60)
    kinds = [kind for kind, _ in shown(one)]
    assert 100 == len(kinds)
    assert {"text_link", "code"} == set(kinds) or kinds.count("text_link") + kinds.count("code") == 100
    assert 240 == len(one.text.split())


def test_a_heading_in_bold_is_bold_once():
    blocks = [Heading(1, (Span("a "), Span("b", Style.BOLD | Style.ITALIC)))]
    assert [("bold", "a b"), ("italic", "b")] == shown(TELEGRAM.render(blocks))


@pytest.mark.parametrize(
    ("text", "plain"),
    [("**as** it <is>", "**as** it <is>"), (" a\0b\ud83d\r\n", "ab\ufffd"), ("\u202etxt", "txt")],
)
def test_plain_text_is_taken_as_it_is(text, plain):
    """Cover F40."""
    assert Rendered(plain) == TELEGRAM.plain(text)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.md")), ids=lambda path: path.stem)
def test_an_answer_looks_as_it_did(path: Path):
    one = rendered(path.read_text(encoding="utf-8"))
    assert [] == faults(one)
    expected = path.with_suffix(".telegram.txt").read_text(encoding="utf-8")
    assert expected == written(one)


def written(one: Rendered) -> str:
    details = [entity.get("url") or entity.get("language") or "" for entity in json.loads(one.markup or "[]")]
    lines = [
        f"{kind} {covered!r} {detail}".rstrip() for (kind, covered), detail in zip(shown(one), details, strict=True)
    ]
    return "\n".join([one.text, "=" * 20, *lines]) + "\n"
