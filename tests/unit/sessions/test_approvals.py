"""A turn that asks before it acts: parked, answered once, by its person, in time, also after a restart."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.consent import AskedCall, Consent
from agent.ports import Turn, TurnPorts
from agent.transcript import EndReason
from channels.messages import Button
from gateway.sessions.config import SessionsConfig
from gateway.store.groups import said_before
from tests.fakes.chat import FakeChannel
from tests.fakes.outages import FickleEngine
from tests.fakes.spine import QuickStore, Spine, quick_store

VOID = "That button is no longer valid."
GONE_BY = "That question was closed when you wrote something else or stopped me. I did not do it."


@dataclass
class Payer:
    paid: list[str] = field(default_factory=list)
    amount: str = "12"
    may_remember: bool = True

    async def run(self, turn: Turn, ports: TurnPorts) -> EndReason:
        if (reason := ports.watchers.stopping()) is not None:
            await ports.journal.finish(reason, "Stopped.", None)
            return reason
        await ports.journal.steer(0, ())
        ask = AskedCall(
            call_key=f"{turn.id}/0/0",
            step=0,
            tool="pay",
            arguments=f'{{"amount": "{self.amount}", "to": "acme *"}}',
            may_remember=self.may_remember,
        )
        if said := [item.text for event in ports.journal.events if event.kind == "steered" for item in event.items]:
            text = f"You say {said[-1]}."
        else:
            consent = await ports.consents.consent(ask)
            if consent is None:
                await ports.consents.park(ask, 100.0)
            if consent in (Consent.ALLOWED, Consent.REMEMBERED):
                self.paid.append(self.amount)
            text = f"It is {consent}."
        await ports.journal.finish(EndReason.COMPLETED, text, None)
        return EndReason.COMPLETED


@dataclass
class Scene:
    spine: Spine
    payer: Payer

    async def ask(self, user: str = "p1", chat: str = "c1") -> dict[str, str]:
        await self.spine.say("pay", user, chat)
        await self.spine.quiet()
        return self.buttons()

    def buttons(self) -> dict[str, str]:
        return {button.label: button.data for button in self.shown_buttons()}

    def shown_buttons(self) -> tuple[Button, ...]:
        return self.spine.channel.parts[-1].buttons

    async def press(self, data: str, user: str = "p1", chat: str = "c1") -> None:
        await self.spine.press(data, user, chat)
        await self.spine.quiet()

    @property
    def last(self) -> str:
        return self.spine.channel.calls[-1].text

    async def restart(self) -> None:
        """Kill -9, and begin again."""
        await self.spine.kill()
        await self.spine.begin()
        await self.spine.quiet()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    store, payer = await quick_store(tmp_path / "tenk.db"), Payer()
    spine = Spine(store, agent=payer.run)
    await spine.begin()
    yield Scene(spine, payer)
    await spine.kill()
    await store.aclose()


async def test_the_question_says_exactly_what_would_be_done(scene: Scene) -> None:
    assert ["Allow once", "Always allow", "Deny"] == list(await scene.ask())
    assert "May I use **pay**?" in scene.last
    assert "• amount: 12" in scene.last and r"• to: acme \*" in scene.last
    assert ([], 0) == (scene.payer.paid, scene.spine.router.running)


@pytest.mark.parametrize(
    ("label", "said", "paid"),
    [("Allow once", "allowed", ["12"]), ("Always allow", "remembered", ["12"]), ("Deny", "denied", [])],
)
async def test_an_answer_is_taken_once(scene: Scene, label: str, said: str, paid: list[str]) -> None:
    buttons = await scene.ask()
    await scene.press(buttons[label])
    assert f"It is {said}." == scene.last
    assert (paid, ["1"]) == (scene.payer.paid, scene.spine.channel.unbuttoned)
    assert 2 == len(scene.spine.channel.shown())
    for again in buttons.values():
        await scene.press(again)
        assert scene.last.startswith("You have answered that already:")
    assert paid == scene.payer.paid
    assert {"answered"} == set((await scene.spine.outcomes()).values())


async def test_what_was_allowed_once_is_asked_again_next_time(scene: Scene) -> None:
    await scene.press((await scene.ask())["Allow once"])
    assert await scene.ask()
    assert ["12"] == scene.payer.paid


async def test_what_is_always_allowed_is_not_asked_again_until_it_is_taken_back(scene: Scene) -> None:
    await scene.press((await scene.ask())["Always allow"])
    await scene.ask()
    assert ["12", "12"] == scene.payer.paid
    for words, told in (
        ("/permissions", "1. pay: runs unasked, because you said “always”"),
        ("/permissions eat", "You have no rule eat"),
        ("/permissions pay", "Taken back:"),
        ("/permissions", "You have set no rules here"),
        ("/permissions all", "You have no rule all"),
    ):
        before = len(scene.spine.channel.parts)
        await scene.spine.say(words)
        await scene.spine.quiet()
        assert told in "\n".join(part.rendered.text for part in scene.spine.channel.parts[before:])
    assert await scene.ask()
    assert ["12", "12"] == scene.payer.paid


async def test_what_another_person_remembers_is_theirs(scene: Scene) -> None:
    await scene.press((await scene.ask(chat="g1"))["Always allow"], chat="g1")
    assert await scene.ask("p2", "g1")
    assert ["12"] == scene.payer.paid


async def test_where_it_may_not_be_remembered_always_is_not_offered(scene: Scene) -> None:
    await scene.press((await scene.ask())["Always allow"])
    scene.payer.may_remember = False
    assert ["Allow once", "Deny"] == list(await scene.ask())


@pytest.mark.parametrize("chat", ["c1", "g1"])
async def test_a_press_of_another_person_is_told_so_and_does_nothing(scene: Scene, chat: str) -> None:
    buttons = await scene.ask(chat=chat)
    for data in buttons.values():
        await scene.press(data, "p2", chat)
        assert "That question is for someone else. I did nothing." == scene.last
    assert ([], []) == (scene.payer.paid, scene.spine.channel.unbuttoned)
    await scene.press(buttons["Allow once"], chat=chat)
    assert ["12"] == scene.payer.paid


async def test_a_forged_press_means_nothing(scene: Scene) -> None:
    deny = (await scene.ask())["Deny"]
    for data in (deny.replace("run_not:", "run:"), deny[:-1], "run:x:1:AAAAAAAAAAAAAAAA"):
        await scene.press(data)
        assert VOID == scene.last
    assert [] == scene.payer.paid


@pytest.mark.parametrize("restarts", [False, True])
async def test_an_unanswered_question_is_a_no(scene: Scene, restarts: bool) -> None:
    buttons = await scene.ask()
    scene.spine.later(minutes=9, seconds=59)
    await scene.spine.parking.expire()
    await scene.spine.quiet()
    assert "May I" in scene.last
    scene.spine.later(seconds=1)
    if restarts:
        await scene.restart()
    await scene.spine.parking.expire()
    await scene.spine.quiet()
    assert "It is expired." == scene.last
    await scene.press(buttons["Allow once"])
    assert "That question has expired. I did not do it." == scene.last
    assert [] == scene.payer.paid


@pytest.mark.parametrize("before", ["press", "turn"])
async def test_a_question_outlives_the_process(scene: Scene, before: str) -> None:
    buttons = await scene.ask()
    await scene.restart()
    assert ([], 0) == (scene.payer.paid, scene.spine.router.running)
    if before == "turn":
        scene.spine.router.close()
        await scene.spine.press(buttons["Allow once"])
        await scene.spine.quiet()
        await scene.restart()
    else:
        await scene.press(buttons["Allow once"])
    assert (["12"], "It is allowed.") == (scene.payer.paid, scene.last)
    await scene.press(buttons["Allow once"])
    assert (["12"], "You have answered that already: allowed once.") == (scene.payer.paid, scene.last)


async def test_crashes_while_a_turn_waits_are_not_counted_for_it(scene: Scene) -> None:
    buttons = await scene.ask()
    for _ in range(4):
        await scene.restart()
    await scene.press(buttons["Allow once"])
    assert ["12"] == scene.payer.paid


async def test_an_answer_holds_for_no_other_arguments(scene: Scene) -> None:
    old = await scene.ask()
    scene.payer.amount = "9999"
    await scene.press(old["Allow once"])
    assert "• amount: 9999" in scene.last and [] == scene.payer.paid
    new = scene.buttons()
    await scene.press(old["Allow once"])
    assert ([], "You have answered that already: allowed once.") == (scene.payer.paid, scene.last)
    await scene.press(new["Allow once"])
    assert ["9999"] == scene.payer.paid


async def test_what_the_person_says_meanwhile_takes_the_question_back(scene: Scene) -> None:
    buttons = await scene.ask()
    said = await scene.spine.say("rather not")
    await scene.spine.quiet()
    assert "You say rather not." == scene.last
    assert "merged" == (await scene.spine.outcomes())[said]
    await scene.press(buttons["Allow once"])
    assert ([], GONE_BY) == (scene.payer.paid, scene.last)


async def test_what_another_member_says_leaves_the_question(scene: Scene) -> None:
    buttons = await scene.ask(chat="g1")
    await scene.ask("p2", "g1")
    await scene.press(buttons["Allow once"], chat="g1")
    assert ["12"] == scene.payer.paid


async def test_in_mode_followup_a_message_is_a_turn_of_its_own(tmp_path: Path) -> None:
    store, payer = await quick_store(tmp_path / "tenk.db"), Payer()
    scene = Scene(Spine(store, agent=payer.run, sessions=SessionsConfig(mode="followup")), payer)
    await scene.spine.begin()
    buttons = await scene.ask()
    await scene.ask()
    await scene.press(buttons["Allow once"])
    assert ["12"] == payer.paid
    await scene.spine.kill()
    await store.aclose()


@pytest.mark.parametrize("command", ["/stop", "/new", "deleted"])
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_stop_ends_what_waits(scene: Scene, command: str, restarts: bool) -> None:
    buttons = await scene.ask()
    if restarts:
        await scene.restart()
    await (scene.spine.take_back("1") if command == "deleted" else scene.spine.say(command))
    await scene.spine.quiet()
    await scene.press(buttons["Allow once"])
    assert ([], GONE_BY) == (scene.payer.paid, scene.last)
    rows = await scene.spine.store.read(
        lambda c: list(c.execute(sa.text("SELECT end_reason, parked_at FROM turns")).all())
    )
    assert [("stopped", None)] == [tuple(row) for row in rows]


async def test_another_persons_stop_leaves_it(scene: Scene) -> None:
    buttons = await scene.ask(chat="g1")
    await scene.spine.say("/stop", "p2", "g1")
    await scene.spine.quiet()
    await scene.press(buttons["Allow once"], chat="g1")
    assert ["12"] == scene.payer.paid


class WithoutButtons(FakeChannel):
    close_buttons = None  # type: ignore[assignment]  what a runtime check takes for not there


@pytest.mark.parametrize(
    ("typed", "said"),
    [("1", "It is allowed."), (" 2. ", "It is remembered."), ("3", "It is denied."), ("4", "You say 4.")],
)
async def test_where_there_are_no_buttons_answers_are_numbered(tmp_path: Path, typed: str, said: str) -> None:
    store, payer = await quick_store(tmp_path / "tenk.db"), Payer()
    scene = Scene(Spine(store, agent=payer.run, channel=WithoutButtons()), payer)
    await scene.spine.begin()
    assert {} == await scene.ask()
    assert "1. Allow once\n2. Always allow\n3. Deny\n\nType the number" in scene.last
    row = await scene.spine.say(typed)
    await scene.spine.quiet()
    assert said == scene.last
    assert ("merged" if typed == "4" else "answered") == (await scene.spine.outcomes())[row]
    await scene.spine.kill()
    await store.aclose()


async def test_a_commit_that_held_unheard_asks_once_and_is_answered_once(tmp_path: Path) -> None:
    engine = FickleEngine(tmp_path / "tenk.db")
    store, payer = await QuickStore(engine).start(), Payer()
    scene = Scene(Spine(store, agent=payer.run), payer)
    await scene.spine.begin()
    await scene.spine.admit(scene.spine.message("pay"), silently=True)
    engine.unheard = 2  # the claim, and the wait
    scene.spine.bus.reread()
    await scene.spine.until(lambda: bool(scene.spine.channel.shown()))
    await scene.spine.quiet()
    assert (0, 1) == (engine.unheard, len(scene.spine.channel.shown()))
    pressed = scene.buttons()["Allow once"]
    await scene.spine.admit(scene.spine.pressed(pressed), silently=True)
    engine.unheard = 1
    scene.spine.bus.reread()
    await scene.spine.until(lambda: len(scene.spine.channel.shown()) > 1)
    await scene.spine.quiet()
    assert (0, ["12"], "It is allowed.") == (engine.unheard, payer.paid, scene.last)
    await scene.spine.kill()
    await store.aclose()


async def test_what_a_group_said_is_read_once_although_an_older_turn_ends_last(tmp_path: Path) -> None:
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
