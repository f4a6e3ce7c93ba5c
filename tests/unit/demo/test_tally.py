"""The demo's table of lost, doubled and unexpected messages and of pings."""

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.world import Message
from channels.simulators.telegram.server import TelegramSimulator
from gateway.demo.chat import Chat
from gateway.demo.main import tally

LINE = "Logged 45 min of guitar, and that is a long line"


def a_chat() -> Chat:
    return Chat(TelegramSimulator.with_bot(), 1001, "Ana", print)


def a_room() -> Chat:
    return Chat(DiscordSimulator.with_bot(), 3001, "Dan", print, room=(5001, "#general"))


def seen(message_id: str, text: str, *pings: str) -> Message[str]:
    return Message(message_id, "1", "900", True, text, at_s=0.5, pings=pings)


def answer(chat: Chat, text: str, *answers: str) -> None:
    said = chat.say(text)
    for number, words in enumerate(answers):
        message_id = f"{said.message_id}-{number}"
        chat.seen[message_id] = seen(message_id, words)
        said.answer.append(message_id)


def test_a_flawless_story_counts_nothing() -> None:
    chat = a_chat()
    answer(chat, "/log 45m guitar", LINE)
    answer(chat, "a guide", "part one, which is long enough to count", "part two, which is long enough too")
    assert ((2, 0, 2, 0, 0, 0), []) == tally([chat])


def test_a_message_without_an_answer_is_lost() -> None:
    chat = a_chat()
    chat.say("are you there?")
    assert ((1, 0, 0, 1, 0, 0), ["Lost: “are you there?” was not answered"]) == tally([chat])


def test_a_message_that_was_not_meant_for_the_bot_needs_no_answer() -> None:
    room = a_room()
    room.say("a game tonight?", meant=False)
    assert ((1, 1, 0, 0, 0, 0), []) == tally([room])
    room.seen["1"] = seen("1", "Gladly.")
    assert ["Said twice by TenK, or unasked: “Gladly.”"] == tally([room])[1]


def test_a_text_or_a_line_that_stands_twice_is_doubled() -> None:
    twice, within = a_chat(), a_chat()
    answer(twice, "one", LINE)
    answer(twice, "two", LINE)
    answer(within, "one", f"Hello\n{LINE}", f"And\n{LINE}")
    for chat in (twice, within):
        assert [f"Said twice by TenK, or unasked: “{LINE}”"] == tally([chat])[1]


def test_a_ping_is_a_fault_even_in_an_answer() -> None:
    room = a_room()
    room.seen["2"] = seen("2", "Hello @everyone", "everyone")
    room.unasked.add("2")
    assert ((0, 0, 0, 0, 0, 1), ["Pinged: everyone"]) == tally([room])
