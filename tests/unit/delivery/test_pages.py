"""The pages of a growing answer: full ones stay, in the end all of it is shown, and reading stays cheap."""

import re
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.base import Limits, Renderer, TextUnit
from channels.telegram.render import TelegramRenderer
from gateway.delivery.message_parts import recovered_mark
from gateway.delivery.pages import AnswerPages
from gateway.delivery.splitter import ORPHAN
from tests.fakes.amounts import share
from tests.fakes.chat import FakeChannel
from tests.fakes.markdown_documents import Document, documents
from tests.fakes.telegram_entities import faults

GENERATED = settings(max_examples=share(24), deadline=None, suppress_health_check=list(HealthCheck))
RESERVE = len(recovered_mark(None))


def pages(max_text: int) -> AnswerPages:
    limits = Limits(max_text=max_text + RESERVE, unit=TextUnit.UTF16)
    return AnswerPages(FakeChannel(limits=limits, renderer=TelegramRenderer()))


def grown(empty: AnswerPages, text: str, step: int) -> AnswerPages:
    now = empty
    for end in range(step, len(text) + step, step):
        now = now.read(text[:end])
    return now


@GENERATED
@given(document=documents(), max_text=st.integers(150, 600), step=st.integers(100, 900))
def test_the_pages_of_a_text_that_grew_carry_every_word_in_order(document: Document, max_text: int, step: int) -> None:
    room = max(max_text, len(document.text) // 15)
    parts = grown(pages(room), document.text, step).all_of(document.text)
    assert document.words == list(dict.fromkeys(re.findall(r"w\d+", " ".join(part.plain for part in parts))))
    assert [] == [fault for part in parts for fault in faults(part.rendered, room)]
    if len(parts) > 1 and max_text > 300:
        assert min(len(part.rendered.text) for part in parts) >= ORPHAN // 2


def paragraphs(count: int) -> str:
    return "\n\n".join(f"Paragraph {number} of some words, no more." for number in range(count))


def test_a_full_page_is_as_it_will_stand() -> None:
    text = paragraphs(100)
    now = grown(pages(500), text, 37)
    assert len(now.full) >= 6
    assert now.full == now.all_of(text)[: len(now.full)]
    assert now.before == text[: len(now.before)]
    assert len(now.before) > len(text) - 1200


def test_a_text_that_is_another_one_shows_nothing_more() -> None:
    now = grown(pages(500), paragraphs(40), 37)
    other = now.read(paragraphs(40).replace("Paragraph", "Chapter"))
    assert (now.full, None) == (other.full, other.current)
    parts = other.all_of(paragraphs(40).replace("Paragraph", "Chapter"))
    assert "Chapter 0 of" in parts[0].plain


@dataclass
class Weighed:
    inner: Renderer
    chars: int = 0

    def render(self, blocks):
        rendered = self.inner.render(blocks)
        self.chars += len(rendered.text)
        return rendered

    def plain(self, text: str):
        self.chars += len(text)
        return self.inner.plain(text)


def work(chars: int, unit: str) -> int:
    renderer = Weighed(TelegramRenderer())
    now = AnswerPages(FakeChannel(limits=Limits(max_text=250, unit=TextUnit.UTF16), renderer=renderer))
    text = unit * (chars // len(unit))
    read = 0
    for end in range(0, len(text), 50):
        if now.wants(end, read):
            now, read = now.read(text[:end]), end
    return renderer.chars


def test_showing_a_long_answer_is_no_more_work_a_word_than_a_short_one() -> None:
    assert work(10_000, "Some words of a paragraph.\n\n") < 2.5 * work(5_000, "Some words of a paragraph.\n\n")
    assert work(10_000, "- an entry of a list\n") < 3.0 * work(5_000, "- an entry of a list\n")
    assert work(10_000, "word ") < 3.0 * work(5_000, "word ")
