"""Linear cost: a text of twice the length costs about twice the work.

Telegram's 4,096 characters, the chat page's 32,000 and a model's 1,000,000 all pass through functions whose cost grows
with the text; every hostile shape is measured here over each function that runs on the event loop.
"""

from collections.abc import Sequence

import pytest

from tests.attacks.growth import Entry, growing
from tests.attacks.shapes import SHAPES, Shape
from tests.attacks.text_of_agent import ENTRIES as OF_AGENT
from tests.attacks.text_of_channels import ENTRIES as OF_CHANNELS
from tests.attacks.text_of_gateway import ENTRIES as OF_GATEWAY

ENTRIES = OF_AGENT | OF_CHANNELS | OF_GATEWAY
NAMES = sorted(ENTRIES)
LONGER = 12
NESTED = tuple(opening * (10_000 // len(opening)) for opening in ("[", '{"a":', '{"data":[', "<b>", "> ", "*_"))
SHARES = 70
"""`make test` tries so small a part of the shapes on each function, another on the next; `make gate` all the others, on
a slow function some of them; `make torture` all."""

pytestmark = pytest.mark.no_cover  # it would measure the tracer


@pytest.mark.parametrize("name", NAMES)
def test_work_grows_with_the_text_alone(name: str) -> None:
    assert len(NAMES) >= SHARES
    assert [] == found(ENTRIES[name], SHAPES[NAMES.index(name) % SHARES :: SHARES])


@pytest.mark.gate
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_work_grows_with_the_text_alone_whatever_it_is(name: str) -> None:
    others = [shape for number, shape in enumerate(SHAPES) if (number - NAMES.index(name)) % SHARES]
    assert [] == found(ENTRIES[name], others[:: ENTRIES[name].one_of])


@pytest.mark.parametrize("name", NAMES)
def test_no_depth_of_nesting_is_too_much(name: str) -> None:
    ENTRIES[name].call(NESTED[NAMES.index(name) % len(NESTED)][: ENTRIES[name].most_chars])


@pytest.mark.gate
@pytest.mark.parametrize("name", NAMES)
def test_no_depth_of_any_nesting_is_too_much(name: str) -> None:
    for text in NESTED:
        ENTRIES[name].call(text[: ENTRIES[name].most_chars])


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_work_grows_with_a_long_text_alone(name: str) -> None:
    assert [] == found(ENTRIES[name], SHAPES, LONGER)


def found(entry: Entry, shapes: Sequence[Shape], scale: int = 1) -> list[str]:
    return [str(grown) for grown in growing(entry.call, shapes, entry.most_chars, scale)]
