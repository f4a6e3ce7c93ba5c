"""What people write to the offline coach: nothing is written that was not meant, and nearly all of it is understood."""

from itertools import islice
from pathlib import Path

import pytest

from tests.unit.coach.corpus import CORPUS, is_right, is_wrong_write, messages_of, understand

LEAST_RIGHT = {path.relative_to(CORPUS): 0.95 for path in CORPUS.glob("*.jsonl")}
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.85 for path in CORPUS.glob("held_out/*.jsonl")}
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.92 for path in CORPUS.glob("own_2.*.jsonl")}  # harder on purpose
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.9 for path in CORPUS.glob("own_[579].*.jsonl")}  # newer
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.82 for path in CORPUS.glob("own_[468].*.jsonl")}  # the hardest
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.75 for path in CORPUS.glob("odd/*.jsonl")}  # to find where it ends
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.9 for path in CORPUS.glob("blind_[fghj].*.jsonl")}  # newer
LEAST_RIGHT |= {path.relative_to(CORPUS): 0.87 for path in CORPUS.glob("blind_i.*.jsonl")}  # hardly tuned on
"""By file. Nobody who works on the reading looks into the held-out ones: they alone tell how new messages fare. Whoever
does tune on them moves them up to the others, and has new ones written."""


SHARES = 8
"""`make test` takes an eighth of each file, in which a few messages weigh much: so much less of it may be right."""
SLACK = 0.15


@pytest.mark.parametrize("name", sorted(LEAST_RIGHT), ids=str)
def test_nothing_is_written_that_was_not_meant_and_much_is_understood(name: Path) -> None:
    """Of an eighth of the messages not one is; most are taken as who knows skills and day takes them."""
    assert_understood(name, SHARES, LEAST_RIGHT[name] - SLACK)


@pytest.mark.gate
@pytest.mark.parametrize("name", sorted(LEAST_RIGHT), ids=str)
def test_nothing_is_written_that_was_not_meant_and_nearly_all_is_understood(name: Path) -> None:
    """Not one message is, whatever else is not understood; the rest is taken as who knows skills and day takes it."""
    assert_understood(name, 1, LEAST_RIGHT[name])


def assert_understood(name: Path, every: int, least_right: float) -> None:
    """Of every so many messages of a file the first."""
    found = [
        (message, understand(message.text, message.skills, message.now, message.language))
        for message in islice(messages_of(CORPUS / name), 0, None, every)
    ]
    assert [] == [(message.text, understood) for message, understood in found if is_wrong_write(message, understood)]
    missed = [(message.text, understood) for message, understood in found if not is_right(message, understood)]
    assert len(found) * least_right <= len(found) - len(missed), missed if "held_out" not in name.parts else ""
