"""One hostile message over the wire stops nobody: the watchdog sees no text function hold the event loop."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from gateway.telemetry import LOOP_STALLS
from tests.fakes.model_server import Call, Reply
from tests.house.text_functions import is_text_function
from tests.journeys.house import house

TELEGRAM_CHARS = 4096

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
"""What a model may be made to say, of up to 100,000 characters."""

CARRIED = {2: ("a", 40_000), 3: ("a", 25_000), 7: ("https", 12_000)}
"""What has to stand in some people's answers, and how often."""


def stalls() -> dict[str, float]:
    """How often each function held the loop for over 200 ms, so far, in all this process."""
    samples = [
        sample for family in LOOP_STALLS.collect() for sample in family.samples if sample.name.endswith("_total")
    ]
    return {sample.labels["place"].partition(".<locals>")[0]: sample.value for sample in samples}


async def held_by(play: Callable[[Path], Awaitable[None]], home: Path) -> list[str]:
    """The text functions that hold the loop whenever it is played; on a busy machine any may, by chance."""
    places: list[str] = []
    for attempt in ("first", "second", "third"):
        before = stalls()
        (home / attempt).mkdir()
        await play(home / attempt)
        changed = [place for place, times in stalls().items() if times != before.get(place)]
        places = [place for place in changed if is_text_function(place) and (attempt == "first" or place in places)]
        if not places:
            break
    return places


async def test_hostile_messages_to_the_offline_coach_stop_nobody(tmp_path: Path) -> None:
    """Everybody who writes one gets an answer, and so does who asks behind them; nothing of ours held the loop."""

    async def play(home: Path) -> None:
        async with house(home, model=None) as here:
            for person, said in enumerate(MESSAGES, start=2):
                here.sim.say(person, said[:TELEGRAM_CHARS])
            here.sim.say(1, "/skills")
            await here.until(lambda: all(here.texts(person) for person in range(1, len(MESSAGES) + 2)), "seven answers")
            await here.settled()

    assert [] == await held_by(play, tmp_path)


@pytest.mark.parametrize("calls", [500, pytest.param(5000, marks=pytest.mark.gate)])
async def test_f37_thousands_of_calls_of_a_model_stop_nobody(tmp_path: Path, calls: int) -> None:
    """The model asks for all at once; the person is answered, and a hundred results are in the store."""

    async def play(home: Path) -> None:
        async with house(home) as here:
            here.model.script(
                Reply(calls=tuple(Call("get_user_skills") for _ in range(calls)), chunk_chars=100), Reply("Done.")
            )
            here.sim.say(1, "my skills, please")
            await here.told(1, "Done.")
            assert 100 == len(await here.rows("SELECT kind FROM events WHERE kind = 'tool_returned'"))

    assert [] == await held_by(play, tmp_path)


@pytest.mark.parametrize("answers", [ANSWERS[:1], pytest.param(ANSWERS, marks=pytest.mark.gate)], ids=len)
async def test_hostile_answers_stop_nobody(tmp_path: Path, answers: Sequence[str]) -> None:
    """Each comes whole, in as many messages as it takes, and so does the short one asked for behind them."""

    async def play(home: Path) -> None:
        async with house(home) as here:
            for person, answer in enumerate(answers, start=2):
                here.model.script(Reply(answer, chunk_chars=4_000))
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
