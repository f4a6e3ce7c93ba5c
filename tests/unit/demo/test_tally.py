"""The demo's table says what the chats show: what is lost, what is doubled, what was said unasked."""

from channels.telegram.simulator.server import TelegramSimulator
from gateway.demo.chat import Chat, Seen
from gateway.demo.tally import Tally, table, tally

LINE = "Logged 45 min of guitar, and that is a long line"


def a_chat() -> Chat:
    simulator = TelegramSimulator()
    simulator.add_bot("1000001:not-a-real-token")
    return Chat(simulator, 1001, "Ana", 0.0, print)


def answer(chat: Chat, text: str, *answers: str) -> None:
    """Ana writes, and gets these messages."""
    said = chat.say(text)
    for number, words in enumerate(answers):
        message_id = said.message_id * 100 + number
        chat.seen[message_id] = Seen(message_id, words, said.at_s + 0.5)
        said.answer.append(message_id)
    said.sign_after_s = said.answer_after_s = 0.5


def counted(chat: Chat) -> Tally:
    return tally([chat], None, 10.0, [])


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
    chat.seen = {1: Seen(1, "You are in.", 0.0), 2: Seen(2, "Stray.", 0.0)}
    chat.unasked.add(1)
    assert ("Stray.",) == counted(chat).doubled


def test_the_table_spells_times_for_people() -> None:
    """Milliseconds below a second, seconds above."""
    rows = dict(table(Tally(2, 2, (), (), (0.05, 0.05, 3.0), (0.02, 0.02), 104.6, 31.2)))
    assert "p50 50 ms, p95 2.7 s" == rows["first sign (typing, reaction, text)"]
    assert ("105 MB", "31 s") == (rows["memory of the gateway"], rows["the whole story"])
