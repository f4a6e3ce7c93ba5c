"""A third-party tool that costs money: it asks its person first, on every platform, and runs once; over the wires."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from gateway.testing.model import Call, Reply
from tests.journeys.pantry_house import PERSON, Running, pantry_world

ASKED = "May I use order_item?"


def orders(body: dict[str, Any]) -> Reply:
    last = body["messages"][-1]
    if last["role"] != "tool":
        return Reply(calls=(Call("order_item", f'{{"item": "{str(last["content"]).split()[-1]}"}}'),))
    result = json.loads(last["content"])
    return Reply(f"Ordered {result['data']['ordered']}." if result["success"] else f"No order: {result['error']}")


def shop(directory: Path) -> list[str]:
    file = directory / "orders"
    return file.read_text().split() if file.exists() else []


def question(side: AnySimulator, person: int = PERSON) -> tuple[str, Mapping[str, str]]:
    shown = [answer for answer in side.answers(side.direct(person)) if answer.buttons]
    return shown[-1].message_id, dict(shown[-1].buttons)


async def ask(running: Running, side: AnySimulator, thing: str) -> tuple[str, Mapping[str, str]]:
    side.say(side.direct(PERSON), f"I need {thing}")
    await running.answered(side, f"item: {thing}")
    return question(side)


def let_time_pass(directory: Path, thing_of: AnySimulator) -> None:
    with closing(sqlite3.connect(directory / "home" / "tenk.db")) as store, store:
        done = store.execute(
            "UPDATE approvals SET until = asked_at + 1 WHERE state = 'pending' AND turn_id IN"
            " (SELECT id FROM turns WHERE address LIKE ?)",
            (f"{thing_of.name}%",),
        )
        assert 1 == done.rowcount


@pytest.mark.timeout(120)
async def test_an_order_is_asked_for_and_done_once(installed: Path, tmp_path: Path) -> None:
    platforms = telegram, discord, slack = (
        TelegramSimulator.with_bot(),
        DiscordSimulator.with_bot(),
        SlackSimulator.with_bot(),
    )
    async with pantry_world(tmp_path, installed, platforms, orders) as world:
        async with world.life(killed=True) as running:
            message, buttons = await ask(running, telegram, "milk")
            assert ["Allow once", "Always allow", "Deny"] == list(buttons)
            assert [] == shop(tmp_path)
            telegram.press(telegram.direct(PERSON), message, buttons["Allow once"])
            await running.answered(telegram, "Ordered milk.")
            telegram.press(telegram.direct(PERSON), message, buttons["Allow once"])
            await running.answered(telegram, "You have answered that already: allowed once.")
            message, buttons = await ask(running, slack, "caviar")
            slack.press(slack.direct(PERSON), message, buttons["Deny"])
            await running.answered(slack, "No order: Denied: the person said no")
            late, dead = await ask(running, discord, "salt")
            kept, buttons = await ask(running, telegram, "flour")
            assert ["milk"] == shop(tmp_path)
        let_time_pass(tmp_path, discord)
        async with world.life() as running:
            await running.answered(discord, "Not done, because I got no answer in time")
            await running.until(
                lambda: not any(a.buttons for a in discord.answers(discord.direct(PERSON))), "no buttons"
            )
            telegram.press(telegram.direct(PERSON), kept, buttons["Allow once"])
            await running.answered(telegram, "Ordered flour.")
            telegram.press(telegram.direct(PERSON), kept, buttons["Allow once"])
            await running.answered(telegram, "You have answered that already: allowed once.", 2)
            discord.press(discord.direct(PERSON), late, dead["Allow once"])
            await running.answered(discord, "That question has expired. I did not do it.")
    assert ["milk", "flour"] == shop(tmp_path)
