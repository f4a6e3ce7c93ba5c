"""How little money is written, and how Spanish writes numbers."""

import pytest

from gateway.commands.usage import in_digits, usd_text


@pytest.mark.parametrize(
    ("cost_microusd", "text"),
    [(0, "0.00"), (1, "0.0001"), (9_949, "0.0099"), (10_000, "0.01"), (31_470, "0.03"), (1_234_567_890, "1,234.57")],
)
def test_money_that_was_spent_is_never_told_as_nothing(cost_microusd, text):
    """From a cent on it is told in cents."""
    assert text == usd_text(cost_microusd)


def test_numbers_are_written_as_the_language_does():
    """Thousands and decimals change places."""
    assert ("1,234.57", "1.234,57") == (in_digits("1,234.57", "en-GB"), in_digits("1,234.57", "es"))
