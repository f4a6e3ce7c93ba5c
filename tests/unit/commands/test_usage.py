"""Small sums of money, and Spanish numbers."""

import pytest

from gateway.commands.usage import cost_in_words, in_digits, usd_text
from gateway.store.usage import UsageTotal
from gateway.texts import HARNESS


@pytest.mark.parametrize(
    ("cost_microusd", "text"),
    [(0, "0.00"), (1, "0.0001"), (9_949, "0.0099"), (10_000, "0.01"), (31_470, "0.03"), (1_234_567_890, "1,234.57")],
)
def test_money_that_was_spent_is_never_told_as_nothing(cost_microusd, text):
    assert text == usd_text(cost_microusd)


def test_numbers_are_written_as_the_language_does():
    assert ("1,234.57", "1.234,57") == (in_digits("1,234.57", "en-GB"), in_digits("1,234.57", "es"))


@pytest.mark.parametrize(
    ("locale", "cost_microusd", "unpriced", "said"),
    [
        ("en", 120_000, 0, "$0.12"),
        ("en", None, 2, "at a price I do not know"),
        ("en", 0, 1, "at a price I do not know"),
        ("es", 0, 1, "a un precio que no conozco"),
        ("en", 120_000, 1, "$0.12, and 1 more question to a model whose price I do not know"),
        ("es", 120_000, 2, "0,12 US$, y 2 preguntas más a modelos cuyo precio no conozco"),
    ],
)
def test_an_unknown_cost_is_said_in_plain_words(locale, cost_microusd, unpriced, said):
    assert said == cost_in_words(UsageTotal(3, 10, 10, cost_microusd, unpriced), HARNESS, locale)
