"""One hostile message over the wire: no function of ours holds the event loop, as the watchdog sees it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from gateway.ops.watchdog import STALL_S, LoopWatchdog, ProcessPause, Stall
from gateway.testing.model import Call, Reply
from tests.journeys.house import house

TELEGRAM_CHARS = 4096
OURS = ("agent.", "channels.", "gateway.")

MESSAGES = (
    "no, " + "1m " * 1364,
    "/log 45m a" + "," * 4080 + "a",
    "```" + " " * 4000 + "x",
    "45m a" + "\u0301\u0323" * 2000,
    "new skill" + " " * 4000 + "a\nb",
    "/timezone " + "a" * 4000,
)

ANSWERS = (
    f"[{'a' * 40_000}](https://example.org/)",
    "`a` " * 25_000,
    "a**b " * 20_000,
    "| a | b |\n|---|---|\n" + "| ~~c~~ | d |\n" * 7_000,
    "- > - a\n" * 12_500,
    "https://" * 12_000,
)
"""Texts of up to 100,000 characters that a model may be made to say."""

CARRIED = {2: ("a", 40_000), 3: ("a", 25_000), 7: ("https", 12_000)}
"""Texts that must stand in some people's answers, and how often."""


async def held_by(play: Callable[[Path], Awaitable[None]], home: Path) -> list[str]:
    """Return our functions that hold the loop for 200 ms of its own time each time; once they may, by chance."""
    places: set[str] = set()
    for attempt in ("first", "second", "third"):
        seen: list[Stall | ProcessPause] = []
        (home / attempt).mkdir()
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(LoopWatchdog(seen.append).run())
            await play(home / attempt)
            watching.cancel()
        computed = [stall.place for stall in seen if isinstance(stall, Stall) and stall.computed_s > STALL_S]
        held = {place for place in computed if place.startswith(OURS)}
        places = held if attempt == "first" else places & held
        if not places:
            break
    return sorted(places)


async def test_hostile_messages_to_the_offline_coach_stop_no_other_chat(tmp_path: Path) -> None:

    async def play(home: Path) -> None:
        async with house(home, model=None) as here:
            for number, said in enumerate(MESSAGES):  # one by one: how long all hold it together is another matter
                here.sim.say(10 + number, said[:TELEGRAM_CHARS])
                here.sim.say(20 + number, "/skills")
                await here.until(lambda n=number: here.texts(10 + n) and here.texts(20 + n), "both answers")
            await here.settled()

    assert [] == await held_by(play, tmp_path)


@pytest.mark.parametrize("calls", [500, pytest.param(5000, marks=pytest.mark.gate)])
async def test_f37_thousands_of_calls_of_a_model_stop_no_other_chat(tmp_path: Path, calls: int) -> None:

    async def play(home: Path) -> None:
        async with house(home) as here:
            here.model.answers(
                Reply(calls=tuple(Call("get_user_skills") for _ in range(calls)), chunk_chars=100), Reply("Done.")
            )
            here.sim.say(1, "my skills, please")
            await here.told(1, "Done.")
            assert 100 == len(await here.rows("SELECT kind FROM events WHERE kind = 'tool_returned'"))

    assert [] == await held_by(play, tmp_path)


@pytest.mark.parametrize("answers", [ANSWERS[:1], pytest.param(ANSWERS, marks=pytest.mark.gate)], ids=len)
async def test_hostile_answers_stop_no_other_chat(tmp_path: Path, answers: Sequence[str]) -> None:

    async def play(home: Path) -> None:
        async with house(home) as here:
            for person, answer in enumerate(answers, start=2):
                here.model.answers(Reply(answer, chunk_chars=4_000))
                here.sim.say(person, "tell me everything")
                await here.asked(person - 1)
            here.sim.say(1, "and me?")
            await here.told(1, "A short answer.")
            people = range(2, len(answers) + 2)
            await here.until(lambda: all(here.texts(person) for person in people), "their answers")
            await here.settled()
            for person, (letters, times) in CARRIED.items():
                assert person not in people or times == "".join(here.texts(person)).count(letters)

    assert [] == await held_by(play, tmp_path)
