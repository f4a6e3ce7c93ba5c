"""The demo's table says what the chats show: what is lost, what is doubled, what was said unasked, who was pinged."""

from channels.simulators.discord.person_side import DiscordPersonSide
from channels.simulators.shared.person_side import SeenMessage
from channels.simulators.telegram.person_side import TelegramPersonSide
from gateway.demo.chat import Chat, Seen
from gateway.demo.tally import PlatformTally, Tally, platform_table, table, tally

LINE = "Logged 45 min of guitar, and that is a long line"


def a_chat() -> Chat:
    return Chat(TelegramPersonSide(), 1001, "Ana", 0.0, print)


def a_room() -> Chat:
    return Chat(DiscordPersonSide(), 3001, "Dan", 0.0, print, room=(5001, "#general"))


def seen(message_id: str, text: str, *pings: str) -> Seen:
    return Seen(SeenMessage(message_id, "1", True, text, 0.5, pings=pings), 0.5)


def answer(chat: Chat, text: str, *answers: str) -> None:
    """Somebody writes, and gets these messages."""
    said = chat.say(text)
    for number, words in enumerate(answers):
        message_id = f"{said.message_id}-{number}"
        chat.seen[message_id] = seen(message_id, words)
        said.answer.append(message_id)
    said.sign_after_s = said.answer_after_s = 0.5


def counted(chat: Chat) -> PlatformTally:
    (figures,) = tally([chat], None, 10.0, []).platforms.values()
    return figures


def test_a_flawless_story_counts_nothing() -> None:
    """Every message has its answer, in as many parts as it takes."""
    chat = a_chat()
    answer(chat, "/log 45m guitar", LINE)
    answer(chat, "a guide", "part one, which is long enough to count", "part two, which is long enough too")
    figures = counted(chat)
    assert figures.flawless
    assert (2, 2, (), ()) == (figures.written, figures.answered, figures.lost, figures.doubled)


def test_a_message_without_an_answer_is_lost() -> None:
    """It is named in the words it was written in."""
    chat = a_chat()
    chat.say("are you there?")
    assert ("are you there?",) == counted(chat).lost
    assert not counted(chat).flawless


def test_what_is_not_meant_for_the_bot_is_not_lost() -> None:
    """It needs no answer; an answer to it would be unasked."""
    room = a_room()
    room.say("a game tonight?", meant=False)
    figures = counted(room)
    assert (1, 1, 0, ()) == (figures.written, figures.not_meant, figures.answered, figures.lost)
    assert figures.flawless
    room.seen["1"] = seen("1", "Gladly.")
    assert ("Gladly.",) == counted(room).doubled


def test_a_text_said_twice_is_doubled() -> None:
    """Two messages of the same words, whatever they answer."""
    chat = a_chat()
    answer(chat, "one", LINE)
    answer(chat, "two", LINE)
    assert (LINE,) == counted(chat).doubled


def test_a_line_twice_in_one_answer_is_doubled() -> None:
    """Also where it stands in two parts of it."""
    chat = a_chat()
    answer(chat, "one", f"Hello\n{LINE}", f"And\n{LINE}")
    assert (LINE,) == counted(chat).doubled


def test_what_nobody_asked_for_is_doubled() -> None:
    """A message that answers nothing should not be there; news of being let in should."""
    chat = a_chat()
    chat.seen = {"1": seen("1", "You are in."), "2": seen("2", "Stray.")}
    chat.unasked.add("1")
    assert ("Stray.",) == counted(chat).doubled


def test_a_ping_is_counted() -> None:
    """A message that notifies people by name is a flaw, answered or not."""
    room = a_room()
    answer(room, "/log 20m chess", "Logged")
    room.seen["2"] = seen("2", "Hello @everyone", "everyone")
    room.unasked.add("2")
    assert ("everyone",) == counted(room).pings
    assert not counted(room).flawless


def test_each_platform_has_a_row() -> None:
    """In the order of the story, with the chats of a platform added up."""
    chats = [a_chat(), a_room(), a_chat()]
    for chat in chats:
        answer(chat, "hello", LINE)
    _, *rows = platform_table(tally(chats, None, 10.0, []))
    assert [("Telegram", "2", "0", "2", "0", "0", "0"), ("Discord", "1", "0", "1", "0", "0", "0")] == rows


def test_the_table_spells_times_for_people() -> None:
    """Milliseconds below a second, seconds above."""
    rows = dict(table(Tally({}, (0.05, 0.05, 3.0), (0.02, 0.02), 104.6, 31.2)))
    assert "p50 50 ms, p95 2.7 s" == rows["first sign (typing, reaction, text)"]
    assert ("105 MB", "31 s") == (rows["memory of the gateway"], rows["the whole story"])
