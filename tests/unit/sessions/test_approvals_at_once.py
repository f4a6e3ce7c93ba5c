"""Several questions at once: calls that ask side by side, turns that wait beside each other; each word is for one."""

import asyncio
from pathlib import Path

import sqlalchemy as sa

from agent.consent import AskedCall
from agent.ports import Turn, TurnPort
from agent.transcript import EndReason
from gateway.sessions.config import SessionsConfig
from tests.fakes.spine import Spine, quick_store
from tests.unit.sessions.test_approvals import Payer, Scene, WithoutButtons


async def test_calls_that_ask_side_by_side_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """One question at a time: the wait is for one word, and the other call asks when the turn goes on."""

    async def run(turn: Turn, port: TurnPort) -> EndReason:
        asks = [
            AskedCall(call_key=f"{turn.id}/0/{index}", step=0, tool="pay", arguments="{}", may_remember=True)
            for index in range(2)
        ]
        waiting = [ask for ask in asks if await port.consent(ask) is None]
        try:
            async with asyncio.TaskGroup() as group:
                for ask in waiting:
                    group.create_task(port.park(ask, 100.0))
        except BaseExceptionGroup as parked:
            raise parked.exceptions[0] from None
        await port.finish(EndReason.COMPLETED, "Both.", None)
        return EndReason.COMPLETED

    store = await quick_store(tmp_path / "tenk.db")
    scene = Scene(Spine(store, agent=run), Payer())
    await scene.spine.begin()
    await scene.press((await scene.ask())["Allow once"])
    rows = await store.read(lambda c: list(c.execute(sa.text("SELECT state FROM approvals ORDER BY id")).scalars()))
    assert ["allowed", "pending"] == rows
    await scene.press(scene.buttons()["Allow once"])
    assert "Both." == scene.last
    await scene.spine.kill()
    await store.aclose()


async def test_a_number_answers_the_newest_question_in_mode_followup_too(tmp_path: Path) -> None:
    """There is no other way to say it; each question by its turn, the one that stands last first."""
    store, payer = await quick_store(tmp_path / "tenk.db"), Payer()
    sessions = SessionsConfig(mode="followup")
    scene = Scene(Spine(store, agent=payer.run, channel=WithoutButtons(), sessions=sessions), payer)
    await scene.spine.begin()
    await scene.ask()
    payer.amount = "13"
    await scene.ask()
    await scene.restart()
    await scene.spine.say("1")
    await scene.spine.quiet()
    rows = await store.read(lambda c: list(c.execute(sa.text("SELECT state FROM approvals ORDER BY id")).scalars()))
    assert (["13"], ["pending", "allowed"]) == (payer.paid, rows)
    await scene.spine.kill()
    await store.aclose()
