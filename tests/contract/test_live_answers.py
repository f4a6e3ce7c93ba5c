"""What stands in a chat while a long answer is written there, over the wires of the platforms."""

from pathlib import Path

import pytest

from tests.fakes.live_wire import Scene, scene
from tests.fakes.virtual_time import passes

PLATFORMS = pytest.mark.parametrize(
    ("platform", "chat", "size"), [("telegram", 1, 4096), ("discord", 1, 2000), ("slack", "D1", 12_000)]
)
GROUPS = pytest.mark.parametrize(
    ("platform", "chat", "a_minute"), [("telegram", -1001, 20), ("discord", 5, 60), ("slack", "C1", 50)]
)


def words(chars: int) -> str:
    """So much prose, in paragraphs, each word another."""
    text = ""
    number = 0
    while len(text) < chars:
        sentence = " ".join(f"w{number + at}" for at in range(60))
        number += 60
        text += f"{sentence}.\n\n"
    return text.strip()


def all_words(texts: list[str]) -> list[str]:
    """The words of an answer's parts, one behind the other."""
    return " ".join(texts).split()


@PLATFORMS
def test_an_answer_that_fills_a_message_goes_on_in_the_next(
    tmp_path: Path, platform: str, chat: int | str, size: int
) -> None:
    """Before it is done two messages and the begin of a third can be read, and none was given the same text twice."""
    answer = words(int(size * 2.6))

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 60)
        grown = here.texts()
        assert 3 == len(grown)
        assert len(all_words(grown)) > len(answer.split()) * 0.8
        assert all(text.endswith("…") == (text is grown[-1]) for text in grown)
        await here.finished(answer)
        assert answer.split() == all_words(here.texts())
        assert [] == here.refusals()
        assert [] == here.repeated()

    scene(tmp_path, platform, chat, play)


@GROUPS
def test_a_group_is_not_flooded_by_an_answer_that_grows(
    tmp_path: Path, platform: str, chat: int | str, a_minute: int
) -> None:
    """All calls counted, the signs too: within every minute fewer than the platform takes, and room for others."""
    answer = words(9_000)

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 120)
        assert len(here.watch.writes) > 20, "it was seen growing"
        await here.finished(answer)
        assert answer.split() == all_words(here.texts())
        assert here.watch.most_a_minute() <= a_minute
        assert [] == here.refusals()
        assert [] == here.repeated()

    scene(tmp_path, platform, chat, play)


CHATS = pytest.mark.parametrize(("platform", "chat", "size"), [("telegram", 1, 4096), ("discord", 1, 2000)])


@CHATS
def test_an_answer_that_ends_shorter_than_it_was_seen_leaves_nothing_behind(
    tmp_path: Path, platform: str, chat: int | str, size: int
) -> None:
    """What was shown of a response that was void in the end stands nowhere."""

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(words(int(size * 2.4)), 40)
        assert 3 == len(here.texts())
        await here.finished("Shorter than it seemed.")
        assert ["Shorter than it seemed."] == here.texts()

    scene(tmp_path, platform, chat, play)


@CHATS
@pytest.mark.parametrize("other", [False, True], ids=["the same words", "other words"])
def test_an_answer_of_many_messages_survives_a_death(
    tmp_path: Path, platform: str, chat: int | str, size: int, other: bool
) -> None:
    """It is written anew, in the same words or others: in the end it stands there once, whole and in order (D2, D3)."""
    answer = words(int(size * 2.4))
    again = answer.replace("w", "v") + "\n\nAnd more." if other else answer

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 40)
        assert 3 == len(here.texts())
        await here.restarted()
        await here.stream(again, 30)
        await here.finished(again)
        assert again.split() == all_words(here.texts())
        assert [] == here.refusals()

    scene(tmp_path, platform, chat, play)


@CHATS
def test_stopping_an_answer_of_many_messages_keeps_what_was_said(
    tmp_path: Path, platform: str, chat: int | str, size: int
) -> None:
    """/stop in the third message: the first two stand, the third ends where it was."""
    answer = words(int(size * 2.4))

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 40)
        await here.said("/stop")
        assert answer.split() == all_words(here.texts())[: len(answer.split())]
        assert not [text for text in here.texts() if text.endswith("…")]

    scene(tmp_path, platform, chat, play)


def test_an_answer_goes_on_in_a_second_stream_of_its_thread(tmp_path: Path) -> None:
    """On Slack each message is a stream of its own, closed under its key before the next one begins (decision 0017)."""
    answer = words(int(12_000 * 1.4))

    async def play(here: Scene) -> None:
        root = here.simulator.say(here.chat, "hello")
        await here.asked(thread=root)
        await here.stream(answer, 60)
        first, second = here.simulator.answers(here.chat)
        assert (False, True) == (first.streaming, second.streaming)
        assert first.metadata is not None
        await here.finished(answer)
        assert answer.split() == all_words(here.texts())
        assert [] == here.refusals()

    scene(tmp_path, "slack", "C1", play)


@pytest.mark.parametrize(("platform", "chat"), [("telegram", 1), ("discord", 1), ("slack", "D1")])
def test_who_waits_for_a_model_that_warms_up_is_told(tmp_path: Path, platform: str, chat: int | str) -> None:
    """After ten seconds without a word, in the place of the answer to come; the busy sign goes on until it comes."""

    async def play(here: Scene) -> None:
        await here.asked()
        await passes(9)
        assert ["…"] == [text.strip() for text in here.texts()]
        await passes(2)
        assert ["Still working on it …"] == here.texts()
        await passes(60)
        signs = [write.at_s for write in here.watch.writes if write.kind == "typing"]
        assert not signs or max(signs) > 60
        await here.finished("Warm now.")
        assert ["Warm now."] == here.texts()
        assert [] == here.refusals()

    scene(tmp_path, platform, chat, play)
