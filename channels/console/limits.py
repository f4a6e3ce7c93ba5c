"""Limits of a terminal, all our own choice, and the person at it."""

from channels.base import Limits, TextUnit

CHANNEL, ACCOUNT, PERSON = "console", "main", "local"
SENDER = f"{CHANNEL}:{PERSON}"
"""The person at the terminals of this machine."""

CONSOLE_LIMITS = Limits(
    max_text=16_000,
    unit=TextUnit.CHARS,
    edit_interval_s=0.3,
    typing_every_s=4.5,
    hints="Shown as plain text in a terminal: short lines, no tables wider than 70 columns.",
    idempotent_sends=True,  # the key is the message's id: the terminal shows a repetition once
    export_command=f"tenk users export {SENDER} FILE",
    waits_for_room=True,
)

MAX_TERMINALS = 8
PATH = "/console"
"""Path of the terminals' WebSocket on the control socket."""
