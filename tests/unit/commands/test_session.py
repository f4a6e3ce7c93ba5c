"""Commands about the conversation and the person."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from agent.ports import Principal
from gateway.coach.product import COACH
from gateway.commands.base import Cleared, Reply
from gateway.commands.session import SESSION_COMMANDS, find_zone, near_zones
from gateway.store import journal
from tests.fakes.invocations import KEY, FakeSession, invocation, run
from tests.fakes.people import database
from tests.fakes.practice_reader import ANA, NOW, add_people

SPANISH = replace(ANA, locale="es")
COMMANDS = {command.name: command for command in SESSION_COMMANDS}


class Chat:
    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        add_people(connection, ANA)
        state = journal.open_session(connection, ANA.tenant, KEY, "steer", 1, NOW)
        self.session = FakeSession(state)

    async def reply(self, name: str, arguments: str = "", who: Principal = ANA, *, direct: bool = True) -> Reply:
        """Return what a command says once it is committed."""
        asked = invocation(name, arguments, who, self.session, direct=direct, store=self.connection)
        return await run(COMMANDS[name], asked, self.connection)

    async def say(self, name: str, arguments: str = "", who: Principal = ANA, *, direct: bool = True) -> str:
        """Return the words of what a command says."""
        return (await self.reply(name, arguments, who, direct=direct)).text


@pytest.fixture
def chat() -> Iterator[Chat]:
    with database() as connection:
        yield Chat(connection)


class TestStop:
    def test_only_stop_and_btw_pass_the_backlog_by(self):
        assert ["stop", "btw"] == [command.name for command in SESSION_COMMANDS if command.urgent]

    @pytest.mark.parametrize(
        ("cleared", "words"),
        [
            (Cleared(), "Nothing is running."),
            (Cleared(running=True), "Stopped."),
            (
                Cleared((1,), ["and the left hand?"], running=True),
                "Stopped. Cleared 1 waiting message: “and the left hand?”",
            ),
            (Cleared((1, 2), ["a", "b"]), "Stopped. Cleared 2 waiting messages: “a”; “b”"),
            (
                Cleared(range(7), list("abcdefg"), running=True),
                "Stopped. Cleared 7 waiting messages: “a”; “b”; “c”; “d”; “e”; and 2 more",
            ),
            (Cleared((1,), [""], running=True), "Stopped. Cleared what was waiting (1)."),
        ],
    )
    async def test_it_says_what_it_cleared(self, chat: Chat, cleared: Cleared, words: str):
        chat.session.cleared = cleared
        reply = await chat.reply("stop")
        assert (words, cleared.ids) == (reply.text, reply.changed.cleared)

    async def test_of_another_persons_answer_it_says_whose_word_it_wants(self, chat: Chat):
        chat.session.running = True
        assert "Someone else asked for what I am doing here" in await chat.say("stop", direct=False)
        assert "Nothing is running." == await chat.say("stop")
        chat.session.cancels = True
        assert "Stopped." == await chat.say("stop", direct=False)

    async def test_long_and_odd_texts_are_quoted_short_and_literal(self, chat: Chat):
        chat.session.cleared = Cleared((1,), ["**x**\n" + "y" * 500])
        said = await chat.say("stop")
        assert "“\\*\\*x\\*\\* yyy" in said
        assert len(said) < 150

    async def test_it_speaks_spanish(self, chat: Chat):
        chat.session.cleared = Cleared((1,), ["hola"])
        assert "Parado. Quitado 1 mensaje que esperaba: “hola”" == await chat.say("stop", who=SPANISH)


class TestMode:
    async def test_an_unknown_one_is_explained(self, chat: Chat):
        reply = await chat.reply("mode", "turbo")
        assert reply.changed.conversation is None
        assert "There is no mode “turbo”." in reply.text


class TestLanguage:
    @pytest.mark.parametrize("written", ["es", "Español", "Spanish"])
    async def test_it_sticks_and_is_spoken_at_once(self, chat: Chat, written: str):
        reply = await chat.reply("language", written)
        assert reply.changed.person is not None and "es" == reply.changed.person.locale
        assert "Desde ahora te respondo en **español**" in reply.text

    @pytest.mark.parametrize(("written", "told"), [("", "I speak **English**"), ("klingon", "English and Spanish")])
    async def test_anything_else_tells(self, chat: Chat, written: str, told: str):
        reply = await chat.reply("language", written)
        assert reply.changed.person is None
        assert told in reply.text


class TestTimezone:
    @pytest.mark.parametrize(
        ("written", "zone"),
        [
            ("Europe/Madrid", "Europe/Madrid"),
            ("europe/madrid", "Europe/Madrid"),
            ("madrid", "Europe/Madrid"),
            ("New York", "America/New_York"),
            ("utc", "UTC"),
            ("São Paulo", "America/Sao_Paulo"),
            ("bogotá", "America/Bogota"),
            ("America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ],
    )
    async def test_a_city_is_enough(self, chat: Chat, written: str, zone: str):
        reply = await chat.reply("timezone", written)
        assert reply.changed.person is not None and zone == reply.changed.person.timezone
        assert zone.replace("_", "\\_") in reply.text

    async def test_the_time_there_is_told(self, chat: Chat):
        assert "it is 13:00 there" in await chat.say("timezone", "Europe/Madrid")

    async def test_without_an_argument_it_tells(self, chat: Chat):
        reply = await chat.reply("timezone")
        assert reply.changed.person is None
        assert "**UTC**; it is 12:00 there" in reply.text

    @pytest.mark.parametrize("written", ["Europe/Madird", "Madird"])
    async def test_a_slip_gets_the_nearest(self, chat: Chat, written: str):
        reply = await chat.reply("timezone", written)
        assert reply.changed.person is None
        assert "Did you mean Europe/Madrid" in reply.text

    @pytest.mark.parametrize("written", ["UTC+2", "../../etc/passwd", "\x00", "x" * 5000, "*"])
    async def test_what_is_no_zone_is_explained(self, chat: Chat, written: str):
        assert (await chat.reply("timezone", written)).changed.person is None

    @pytest.mark.parametrize("written", ["UTC+2", "GMT-3", "+05:30", "CEST", "EST"])
    async def test_an_offset_or_an_abbreviation_is_taken_for_no_other_zone(self, chat: Chat, written: str):
        """A suggestion of UTC would move a person in UTC+2 by two hours, and CEST is not Australia/West."""
        reply = await chat.reply("timezone", written)
        assert reply.changed.person is None
        assert "region and city" in reply.text

    def test_nothing_near_is_nothing(self):
        assert find_zone("qqqq") is None
        assert () == near_zones("qqqq")


class TestStart:
    async def test_an_agent_says_it_in_its_own_words(self, chat: Chat):
        for who, hello in ((ANA, "/log 45m guitar scales"), (SPANISH, "/log 45m guitarra escalas")):
            asked = invocation("start", "", who, texts=COACH.catalogue)
            assert hello in (await run(COMMANDS["start"], asked, chat.connection)).text
            assert "/log" not in (await run(COMMANDS["mode"], asked, chat.connection)).text
