"""A terminal's limits are data, and all of them our own choice: the client is ours."""

from channels.base import Limits, TextUnit

CONSOLE_LIMITS = Limits(
    max_text=16_000,
    unit=TextUnit.CHARS,
    edit_interval_s=0.3,
    typing_every_s=4.5,
    hints="Shown as plain text in a terminal: short lines, no tables wider than 70 columns.",
    idempotent_sends=True,  # a message is its key: the terminal shows a repeated one once
)

MAX_TERMINALS = 8
PATH = "/console"
"""Where terminals come in on the control socket."""
