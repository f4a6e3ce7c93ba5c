"""The chat page's limits are data, and all of them our own choice: the page is ours."""

from channels.base import Limits, TextUnit

WEB_LIMITS = Limits(
    max_text=16_000,
    unit=TextUnit.CHARS,
    edit_interval_s=0.4,
    typing_every_s=4.5,  # the page shows it for 6 s
    hints="Markdown is shown in full here: headings, lists, tables, code.",
    answers_edits=True,
    idempotent_sends=True,  # a message is its key: the page shows a repeated one once
)
