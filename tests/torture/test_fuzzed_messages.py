"""Ten thousand messages for each platform: all are taken, all of the text arrives, and nobody is pinged.

make test                                            two hundred of them
make torture                                         all of them, and as many generated documents
FUZZED_MESSAGES=100000 FUZZED_SEED=7 make torture    more, and others
"""

import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import GOES_ON, OutboundPart, Rendered
from gateway.delivery.pages import close_open_markup
from gateway.delivery.splitter import MAX_PARTS, ORPHAN, SplitPart, split
from tests.fakes.fuzzed_messages import Message, documented, fuzzed
from tests.fakes.markdown_documents import Document, documents
from tests.fakes.takers import TAKERS, Taker, has_table, letters, missing
from tests.fakes.wires import WIRES, is_loud

MANY = int(os.environ.get("FUZZED_MESSAGES", "10000"))
"""Messages a platform in `make torture`."""

SEED = int(os.environ.get("FUZZED_SEED", "1"))

PLATFORMS = pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker.name)
WORD = re.compile(r"[^\W_]+")
LEFT_OUT = re.compile(r"\[… [\d,]+ more characters were left out\]\s*\Z")
GENERATED = settings(
    max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
Report = Callable[[str, object], None]


@PLATFORMS
def test_forty_messages_are_taken_whole_and_ping_nobody(taker: Taker):
    """F40, A62 to A66: 0 refusals, 0 pings, nothing over a limit, no part empty, all text kept."""
    assert [] == [broken for number in range(40) for broken in _broken(taker, fuzzed(number, SEED))]


@PLATFORMS
@pytest.mark.parametrize("share", range(10))
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_messages_are_taken_whole_and_ping_nobody(taker: Taker, share: int, record_property: Report):
    """The same, in ten shares that two workers can halve."""
    began_s = time.perf_counter()
    mine = range(share, MANY, 10)
    kinds = Counter(fuzzed(number, SEED).kind for number in mine)
    assert [] == [broken for number in mine for broken in _broken(taker, fuzzed(number, SEED))]
    record_property("fuzzed", f"{taker.name}: {len(mine)} messages in {time.perf_counter() - began_s:.0f} s, {kinds}")


def _broken(taker: Taker, message: Message) -> list[str]:
    """What went wrong with one message; its number says how to have it again."""
    where = f"{taker.name}, {message.kind} {message.number}"
    text = close_open_markup(message.text) if message.streamed else message.text
    reserve = len(GOES_ON)
    try:
        parts = split(text, taker.renderer, taker.limits, reserve=reserve)
        found = [fault for part in parts for fault in _part_broken(taker, part)]
        if message.streamed and parts:
            first = parts[0].rendered
            found += _taken_broken(taker, replace(first, text=first.text + GOES_ON), parts[0].plain)
    except Exception as error:  # noqa: BLE001  whatever it is, the message is to blame
        return [f"{where}: {error!r}"]
    return [f"{where}: {fault}" for fault in (*found, *_text_broken(text, parts))]


def _part_broken(taker: Taker, part: SplitPart) -> list[str]:
    """As it is sent, and as it is sent where that should be refused."""
    plain = taker.renderer.plain(part.plain)
    found = _taken_broken(taker, part.rendered, part.plain) + _taken_broken(taker, plain, part.plain)
    measure, most = taker.limits.unit.measure, taker.limits.max_text
    return found + [f"{measure(one.text)} long" for one in (part.rendered, plain) if measure(one.text) > most]


def _taken_broken(taker: Taker, rendered: Rendered, plain: str) -> list[str]:
    taken = taker.take(rendered)
    found = [*taken.faults, *[f"pings {ping}" for ping in taken.pings]]
    if not taken.text.strip():
        found.append("nothing to see")
    if lost := _lost(taker, plain, taken.text):
        found.append(f"lost {lost!r}")
    return found


def _lost(taker: Taker, plain: str, shown: str) -> str:
    """Of what was meant, what is not shown."""
    if not taker.own_tables:
        return missing(plain, shown)
    words = set(WORD.findall(shown))
    return " ".join([word for word in WORD.findall(plain) if word not in words])


def _text_broken(text: str, parts: tuple[SplitPart, ...]) -> list[str]:
    """What the parts say together, against what the whole says."""
    if len(parts) > MAX_PARTS:
        return [f"{len(parts)} parts"]
    if parts and LEFT_OUT.search(parts[-1].plain):
        return []
    blocks = parse(text)
    meant, said = plain_text(blocks), " ".join(part.plain for part in parts)
    if not letters(meant):
        return []
    if has_table(blocks):  # a cut one says its titles again, a narrow one only once
        whole = letters(said)
        return [f"lost {word}" for word in set(WORD.findall(meant)) if word not in whole]
    return [] if letters(meant) == letters(said) else [f"lost {missing(meant, said)!r}, or said in another order"]


@PLATFORMS
def test_answer_is_shown_wherever_its_stream_stands(taker: Taker):
    """Cut at every index, closed and with the dots behind: each show is taken and says the words so far."""
    _stream(taker, fuzzed_documents(0)[:150])


@PLATFORMS
@pytest.mark.parametrize("number", range(5))
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_long_answer_is_shown_wherever_its_stream_stands(taker: Taker, number: int):
    """The same with more of it."""
    _stream(taker, fuzzed_documents(number)[:1_500])


def fuzzed_documents(number: int) -> str:
    """An answer of some length, the same for a number."""
    return documented(random.Random(number))


def _stream(taker: Taker, text: str) -> None:
    cuts = [Message(length, "cut short", text[:length], streamed=True) for length in range(len(text) + 1)]
    assert [] == [broken for cut in cuts for broken in _broken(taker, cut)]


@PLATFORMS
@pytest.mark.parametrize("share", range(2))
@pytest.mark.long
@pytest.mark.timeout(3600)
@GENERATED
@given(document=documents(), max_text=st.integers(300, 2000))
def test_every_generated_document_arrives_whole(taker: Taker, share: int, document: Document, max_text: int):
    """Hypothesis writes it: each part is taken, none is an orphan, together they say every word once and in order."""
    max_text = min(taker.limits.max_text, max(max_text, len(document.text) // 20))
    parts = split(document.text, taker.renderer, replace(taker.limits, max_text=max_text))
    assert [] == [fault for part in parts for fault in _part_broken(taker, part)]
    assert document.words == re.findall(r"w\d+", " ".join(taker.take(part.rendered).text for part in parts))
    if len(parts) > 1:
        assert ORPHAN <= taker.limits.unit.measure(parts[-1].rendered.text)


# ---------------------------------------------------------------- through the real SDKs


@PLATFORMS
async def test_sdk_carries_them(taker: Taker):
    """A59, A62 to A66: what the platform's own library sends is taken, pings nobody, and is not unfurled."""
    await _carried(taker, 8)


@PLATFORMS
@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_sdk_carries_five_hundred(taker: Taker):
    """The same with more."""
    await _carried(taker, 500)


async def _carried(taker: Taker, messages: int) -> None:
    async with WIRES[taker.name]() as wire:
        before = wire.refused()
        sent: list[str] = []
        for number in range(messages):
            for part in split(fuzzed(number, SEED + 1).text, taker.renderer, taker.limits):
                key = f"{number}-{len(sent)}"
                await wire.channel.send(OutboundPart(address=wire.address, rendered=part.rendered, idem_key=key))
                sent.append(part.plain)
        seen = wire.seen()
        assert len(sent) == len(seen)
        assert before == wire.refused()
        assert [""] * len(sent) == [_lost(taker, plain, one.text) for plain, one in zip(sent, seen, strict=True)]
        assert [] == [one.text for one in seen if is_loud(one)]
