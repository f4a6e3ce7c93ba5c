"""What people write to the offline coach: nothing is written that was not meant, and nearly all of it is understood."""

from pathlib import Path

import pytest

from tests.unit.coach.corpus import CORPUS, Message, Understood, is_right, is_wrong_write, messages_of, understand

FILES = sorted(path.name for path in CORPUS.glob("*.jsonl"))
LEAST_RIGHT = 0.95


def _understood(path: Path) -> list[tuple[Message, Understood]]:
    return [
        (message, understand(message.text, message.skills, message.now, message.language))
        for message in messages_of(path)
    ]


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_written_that_was_not_meant(name: str) -> None:
    """Not one message of a corpus, whatever else is not understood."""
    found = _understood(CORPUS / name)
    assert [] == [(message.text, understood) for message, understood in found if is_wrong_write(message, understood)]


@pytest.mark.parametrize("name", FILES)
def test_nearly_all_is_understood(name: str) -> None:
    """As a person who knows the skills and the day takes it."""
    found = _understood(CORPUS / name)
    missed = [(message.text, understood) for message, understood in found if not is_right(message, understood)]
    assert len(found) * LEAST_RIGHT <= len(found) - len(missed), missed
