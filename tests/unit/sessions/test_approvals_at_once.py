"""Several questions at once: turns that wait beside each other; each word is for one."""

from pathlib import Path

import sqlalchemy as sa

from gateway.sessions.config import SessionsConfig
from gateway.store.groups import said_before
from tests.fakes.spine import Spine, quick_store
from tests.unit.sessions.test_approvals import Payer, Scene, WithoutButtons


async def test_what_a_group_said_is_read_once_although_an_older_turn_ends_last(tmp_path: Path) -> None:
    """It waited for its person while another member's question was answered, which had read it."""
    store, payer = await quick_store(tmp_path / "tenk.db"), Payer()
    scene = Scene(Spine(store, agent=payer.run), payer)
    spine = scene.spine
    await spine.begin()
    first = await scene.ask(chat="g1")
    await spine.admit(talk := spine.message("dinner at eight?", "p2", "g1", mentions_bot=False), "p2", silently=True)
    await store.commit(
        lambda c: c.execute(sa.text("UPDATE inbox SET outcome = 'context' WHERE outcome IS NULL AND id = 2"))
    )
    asked = spine.message("pay too", "p2", "g1")
    await spine.admit(asked, "p2")
    await spine.quiet()
    assert [talk] == [each.message for each in await store.read(lambda c: said_before(c, asked))]
    await scene.press(first["Allow once"], chat="g1")
    assert ["12"] == payer.paid
    later = spine.message("and now?", "p1", "g1")
    await spine.admit(later, "p1")
    assert [] == await store.read(lambda c: said_before(c, later))
    await spine.kill()
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
