"""What people write to the offline coach: nothing is written that was not meant, and nearly all of it is understood."""

import pytest

from tests.unit.coach.corpus import CORPUS, is_right, is_wrong_write, messages_of, understand

FILES = sorted(path.name for path in CORPUS.glob("*.jsonl"))
LEAST_RIGHT = 0.95


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_written_that_was_not_meant_and_nearly_all_is_understood(name: str) -> None:
    """Not one message is, whatever else is not understood; the rest is taken as who knows skills and day takes it."""
    found = [
        (message, understand(message.text, message.skills, message.now, message.language))
        for message in messages_of(CORPUS / name)
    ]
    assert [] == [(message.text, understood) for message, understood in found if is_wrong_write(message, understood)]
    missed = [(message.text, understood) for message, understood in found if not is_right(message, understood)]
    assert len(found) * LEAST_RIGHT <= len(found) - len(missed), missed
