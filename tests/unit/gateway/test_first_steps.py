"""The steps that a terminal shows a newcomer: those that are left, and no others."""

import pytest

from gateway.command_line import PLAIN
from gateway.config.settings import Settings
from gateway.first_steps import Founding, first_steps

URL = "http://127.0.0.1:8080/"
BOT = {"channels": {"telegram": {"main": {"token": "123456789:" + "AbC-_" * 7}}}}
MODEL = {"model": {"name": "openai:llama", "base_url": "http://127.0.0.1:9/v1"}}
WITHOUT_PAGE = {"channels": {"web": {"enabled": False}}}


@pytest.mark.parametrize(
    ("settings", "founding", "steps"),
    [
        (
            {},
            Founding(f"{URL}?invite=A", asks_bots=False),
            ["Become the owner: open", "Try it: say", "Connect Telegram"],
        ),
        ({}, None, ["Try it: say hello", "Connect Telegram, Discord or Slack, and a language model"]),
        (BOT, Founding(f"{URL}?invite=A", asks_bots=True), ["Become", "Try it", "Connect a language model"]),
        (BOT, None, ["Connect a language model"]),
        (MODEL, Founding(None, asks_bots=True), ["Become the owner: write to your bot", "Try it", "Connect Telegram"]),
        (WITHOUT_PAGE, None, ["Try it: in another terminal, type", "Connect"]),
        (BOT | MODEL, None, []),
    ],
)
def test_the_steps_are_those_that_are_left(
    settings: dict[str, object], founding: Founding | None, steps: list[str]
) -> None:
    shown = first_steps(Settings.model_validate(settings), URL, founding, PLAIN, plays=not steps)
    numbered = [line.strip() for line in shown.splitlines() if line.startswith("  ") and line.strip()[0].isdigit()]
    assert len(steps) == len(numbered)
    assert all(
        line.startswith(f"{number}. {step}") for number, (line, step) in enumerate(zip(numbered, steps, strict=True), 1)
    )


def test_each_step_says_what_to_type_or_open() -> None:
    founding = Founding(f"{URL}?invite=A", asks_bots=True)
    shown = first_steps(Settings(), URL, founding, PLAIN, plays=True)
    for words in (f"runs at {URL}", f"{URL}?invite=A", "tenk pairing approve CODE", f"{URL}playground", "tenk init"):
        assert words in shown
    assert "tenk chat" in first_steps(Settings.model_validate(WITHOUT_PAGE), URL, None, PLAIN)
