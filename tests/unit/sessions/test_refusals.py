"""Refusals in the words of a command, a tool or a hook: one class, and the person's language."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from agent.errors import Refused
from agent.hooks.points import HookConfig, HookPoint
from agent.ports import LocalEffect
from agent.tools.base import Effect
from agent.transcript import ModelResponded, ToolCall, ToolItem
from gateway.commands.base import Command, Invocation, Reply, Write
from gateway.operators.actions import OperationRefused
from gateway.store.engine import Connection
from gateway.store.tables.people import users
from gateway.store.tables.traffic import inbox
from tests.fakes.agents import a_tool
from tests.fakes.hooks import ANSWERS, TOLD
from tests.fakes.spine import Spine, quick_store

DIRECT_ONLY = Refused("people.only_direct", name="x")

IN_SPANISH = "/x dice quién puede usar este bot, así que solo respondo en un chat directo conmigo."


async def refuse(asked: Invocation) -> Reply:
    raise Refused("There is no zone {zone}.", zone=asked.arguments)


async def refuse_in_spanish(_asked: Invocation) -> Reply:
    raise DIRECT_ONLY


async def refuse_operators(_asked: Invocation) -> Reply:
    raise OperationRefused("no known person is *x*")


async def write(_asked: Invocation) -> Write:
    return Write(_write)


def _write(connection: Connection) -> Reply:
    connection.execute(sa.update(users).values(display_name="Changed"))
    raise Refused("It is full.")


async def broken(_asked: Invocation) -> Reply:
    raise RuntimeError("a bug with ghp_Q7rT2mKx9VbN4sLdE8wZ1yHc6uJp3aFg5R0t\nand more")


async def silent(_asked: Invocation) -> Reply:
    return None  # type: ignore[return-value]  a mistake of a command's author


async def silent_write(_asked: Invocation) -> Write:
    return Write(lambda _connection: "Done.")  # type: ignore[arg-type, return-value]  another one


HANDLERS = (refuse, refuse_in_spanish, refuse_operators, write, broken, silent, silent_write)


def _refuse_effect(_change: object) -> object:
    raise DIRECT_ONLY


async def _refuse_tool(_context: object, _arguments: object) -> object:
    raise DIRECT_ONLY


def _break_effect(_change: object) -> object:
    raise KeyError("a bug")


async def _break_late(_context: object, _arguments: object) -> LocalEffect:
    return LocalEffect(_break_effect)


async def _refuse_late(_context: object, _arguments: object) -> LocalEffect:
    return LocalEffect(_refuse_effect)


@pytest.fixture
async def spine(tmp_path: Path) -> AsyncIterator[Spine]:
    TOLD.clear()
    ANSWERS.clear()
    store = await quick_store(tmp_path / "tenk.db")
    points = (HookPoint.USER_PROMPT, HookPoint.PRE_TOOL)
    spine = Spine(
        store,
        hooks=tuple(HookConfig(point=point, python="tests.fakes.hooks:note") for point in points),
        tools=(
            a_tool("early", _refuse_tool),
            a_tool("late", _refuse_late, effect=Effect.LOCAL),
            a_tool("broken", _break_late, effect=Effect.LOCAL),
        ),
        more_commands=tuple(Command(handler.__name__, "", handler) for handler in HANDLERS),
    )
    spine.people.known["p1"] = replace(spine.people.known["p1"], locale="es")
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/refuse Nowhere", "There is no zone Nowhere."),
        ("/refuse_in_spanish", IN_SPANISH),
        ("/refuse_operators", r"No se ha cambiado nada: no known person is \*x\*."),
        ("/write", "It is full."),
    ],
)
async def test_a_command_says_why_it_refuses(spine: Spine, command: str, answer: str) -> None:
    row = await spine.say(command)
    await spine.quiet()
    assert [answer] == spine.channel.shown()
    assert {row: "answered"} == await spine.outcomes()
    names = await spine.store.read(lambda tx: list(tx.execute(sa.select(users.c.display_name)).scalars()))
    assert "Changed" not in names


@pytest.mark.parametrize(
    ("tool", "words"),
    [("early", IN_SPANISH), ("late", IN_SPANISH), ("broken", "broken failed: KeyError. Nothing was changed.")],
)
async def test_a_model_reads_why_a_tool_refuses_or_fails(spine: Spine, tool: str, words: str) -> None:
    await spine.say("go")
    await spine.asked()
    spine.model.give(ModelResponded(0, "", (ToolCall("c1", tool, '{"n": 3}'),)))
    await spine.asked()
    (result,) = [item.content for item in spine.model.requests[-1].items if isinstance(item, ToolItem)]
    assert words in result
    spine.model.give("Done.")
    await spine.quiet()


async def test_a_hook_says_why_it_refuses(spine: Spine) -> None:
    ANSWERS["user_prompt"] = DIRECT_ONLY
    row = await spine.say("hello")
    await spine.quiet()
    assert [IN_SPANISH] == spine.channel.shown()
    assert {row: "refused"} == await spine.outcomes()
    ANSWERS.clear()
    ANSWERS["pre_tool"] = DIRECT_ONLY
    await spine.say("go")
    await spine.asked()
    spine.model.give(ModelResponded(0, "", (ToolCall("c1", "early", '{"n": 3}'),)))
    await spine.asked()
    (result,) = [item.content for item in spine.model.requests[-1].items if isinstance(item, ToolItem)]
    assert "Denied: " in result and IN_SPANISH.rstrip(".") in result
    spine.model.give("Done.")
    await spine.quiet()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("broken", "RuntimeError: a bug with [REDACTED]"),
        ("silent", "TypeError: tests.unit.sessions.test_refusals.silent returned NoneType, not a Reply or a Write"),
        (
            "silent_write",
            "TypeError: tests.unit.sessions.test_refusals.silent_write.<locals>.<lambda> returned str, not a Reply",
        ),
    ],
)
async def test_an_unexpected_error_is_apologised_for_and_recorded(spine: Spine, command: str, why: str) -> None:
    spine.breaks = True
    with capture_logs() as logs:
        row = await spine.say(f"/{command}")
        await spine.quiet()
    assert [command] == [event["command"] for event in logs if event["event"] == "command_broken"]
    assert ["Algo falló con ese comando"] == [words.partition(";")[0] for words in spine.channel.shown()]
    assert ("failed", why) == await spine.store.read(
        lambda tx: tuple(tx.execute(sa.select(inbox.c.outcome, inbox.c.detail).filter_by(id=row)).one())
    )
