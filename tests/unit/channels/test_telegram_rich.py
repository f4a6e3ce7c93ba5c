"""The Markdown tree as a rich message: SDK types, within Telegram's limits, with all of the text."""

import json
import re

import pytest
from hypothesis import given, settings

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.markdown.tree import Block, Heading, ListBlock, ListItem, Paragraph, Quote, Span, Table
from channels.messages import Rendered
from channels.simulators.telegram.rich import check_rich_message
from channels.telegram.library import load_aiogram
from channels.telegram.limits import TELEGRAM_LIMITS
from channels.telegram.render import TelegramRenderer
from channels.telegram.rich import RichTelegramRenderer, classic, rich_message
from gateway.delivery.splitter import split
from tests.fakes.amounts import share
from tests.fakes.markdown_documents import Document, documents

load_aiogram()

from aiogram.types import InputRichMessage  # noqa: E402  after load_aiogram

RICH = RichTelegramRenderer()


def _blocks(markdown: str) -> list[object]:
    message = rich_message(RICH.render(parse(markdown)))
    assert message is not None
    blocks = message["blocks"]
    assert isinstance(blocks, list)
    return blocks


@pytest.mark.parametrize(
    ("markdown", "block"),
    [
        ("## Title", {"type": "heading", "text": "Title", "size": 2}),
        ("---", {"type": "divider"}),
        ("> said", {"type": "blockquote", "blocks": [{"type": "paragraph", "text": "said"}]}),
        (
            "- a\n- b",
            {
                "type": "list",
                "items": [{"blocks": [{"type": "paragraph", "text": one}]} for one in "ab"],
            },
        ),
        (
            "3. c",
            {"type": "list", "items": [{"blocks": [{"type": "paragraph", "text": "c"}], "value": 3, "type": "1"}]},
        ),
        ("# *a* b", {"type": "heading", "text": [{"type": "italic", "text": "a"}, " b"], "size": 1}),
        (
            "# [**a**](https://x.y)",
            {
                "type": "heading",
                "text": {"type": "url", "text": {"type": "bold", "text": "a"}, "url": "https://x.y"},
                "size": 1,
            },
        ),
    ],
)
def test_blocks_are_what_they_mean(markdown: str, block: dict[str, object]):
    assert [block] == _blocks(markdown)


@pytest.mark.parametrize("markdown", ["plain", "**bold** text", "```python\nx = 1\n```", "one\n\ntwo"])
def test_what_looks_the_same_stays_classic(markdown: str):
    assert TelegramRenderer().render(parse(markdown)) == RICH.render(parse(markdown))


@pytest.mark.parametrize(
    "blocks",
    [
        [Heading(1, (Span("x"),)) for _ in range(501)],
        [ListBlock(tuple(ListItem((Paragraph((Span("x"),)),)) for _ in range(300)))],
        [Table(tuple((Span("x"),) for _ in range(21)), ())],
    ],
    ids=["blocks", "items", "columns"],
)
def test_what_is_over_the_limits_stays_classic(blocks: list[Block]):
    assert rich_message(RICH.render(blocks)) is None


def test_what_is_nested_too_deep_stays_classic():
    deep: Block = Paragraph((Span("x"),))
    for _ in range(8):
        deep = Quote((deep,))
    assert rich_message(RICH.render([deep])) is None


def test_rest_of_a_cut_entry_stands_without_a_label():
    rest = ListItem((Paragraph((Span("rest"),)),), number=3, continued=True)
    following = ListItem((Paragraph((Span("next"),)),), number=4)
    message = rich_message(RICH.render([ListBlock((rest, following))]))
    assert message is not None
    assert "rest\n4. next" == check_rich_message(message)[0]


def test_text_put_behind_is_a_paragraph_of_its_own():
    rendered = RICH.render(parse("# Plan 😀"))
    behind = rich_message(Rendered(rendered.text + " …", rendered.markup))
    assert behind is not None
    assert "Plan 😀\n…" == check_rich_message(behind)[0]
    assert rich_message(Rendered(rendered.text.replace("Plan", "Play"), rendered.markup)) is None


def test_classic_rendering_is_inside():
    markdown = "# Plan\n\n- **a**"
    plain = TelegramRenderer().render(parse(markdown))
    text, entities = classic(RICH.render(parse(markdown)))
    assert (plain.text, json.loads(plain.markup or "")) == (text, json.loads(entities or ""))


@settings(max_examples=share(80), deadline=None)
@given(documents())
def test_any_document_is_taken_whole(document: Document):
    said = ""
    for piece in split(document.text, RICH, TELEGRAM_LIMITS, reserve=100):
        message = rich_message(piece.rendered)
        if message is None:
            said += f" {piece.rendered.text}"
            continue
        InputRichMessage.model_validate(message)
        said += f" {check_rich_message(message)[0]}"
    assert document.words == re.findall(r"w\d+", said)


def test_length_is_that_of_the_text():
    blocks = parse("# Plan\n\n1. a\n2. b")
    assert plain_text(blocks) == RICH.render(blocks).text
