"""The API's limits are data, and all of them our own choice: an answer is one JSON text."""

from channels.base import Limits, TextUnit

API_LIMITS = Limits(
    max_text=2_000_000,  # more than the longest answer: it is never cut
    unit=TextUnit.CHARS,
    hints="A program reads this over an API and shows it to a person, mostly as Markdown.",
    idempotent_sends=True,  # nothing is sent anywhere: an answer is fetched under its own id
)
