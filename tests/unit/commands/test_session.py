"""Commands about the conversation and the person."""

from dataclasses import dataclass, replace

import pytest

from gateway.coach.product import COACH
from gateway.commands.base import Invocation, Reply, SessionAction, SessionCleared, SetLanguage, SetMode, SetTimezone
from gateway.commands.session import find_zone, near_zones, session_commands
from tests.fakes.practice_reader import ANA, NOW

SPANISH = replace(ANA, locale="es")


@dataclass
class Session:
    """A session as a command sees it."""

    mode: str = "steer"
    running: bool = False


async def reply(name: str, arguments: str = "", who=ANA, session: Session | None = None) -> Reply:
    """What a command wants."""
    (command,) = (one for one in session_commands() if one.name == name)
    return await command.handle(Invocation(name, arguments, who, NOW, session or Session(), "inbox:1"))


def text(answer: Reply, *results: object) -> str:
    """Its words, once it was carried out."""
    return answer.text if isinstance(answer.text, str) else answer.text(results)


class TestStop:
    async def test_only_stop_and_btw_pass_the_backlog_by(self):
        """The rest waits its turn."""
        assert ["stop", "btw"] == [command.name for command in session_commands() if command.urgent]

    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (SessionCleared(0, [], False), "Nothing is running."),
            (SessionCleared(0, [], True), "Stopped."),
            (SessionCleared(1, ["and the left hand?"], True),
             "Stopped. Cleared 1 waiting message: “and the left hand?”"),
            (SessionCleared(2, ["a", "b"], False),
             "Stopped. Cleared 2 waiting messages: “a”; “b”"),
            (SessionCleared(7, list("abcdefg"), True),
             "Stopped. Cleared 7 waiting messages: “a”; “b”; “c”; “d”; “e”; and 2 more"),
            (SessionCleared(1, [""], True), "Stopped. Cleared what was waiting (1)."),
        ],
    )  # fmt: skip
    async def test_it_says_what_it_cleared(self, result, words):
        """In the person's own words, so that they can send it again."""
        answer = await reply("stop")
        assert SessionAction.STOP == answer.session
        assert words == text(answer, result)

    async def test_of_another_persons_answer_it_says_whose_word_it_wants(self):
        """In a group; alone with the bot there is nobody else."""
        (stop,) = (one for one in session_commands() if one.name == "stop")
        asked = Invocation("stop", "", ANA, NOW, Session(running=True), "inbox:1", direct=False)
        assert "asked by somebody else" in text(await stop.handle(asked), SessionCleared(0, [], False))
        assert "Stopped." == text(await stop.handle(asked), SessionCleared(0, [], True))
        alone = replace(asked, direct=True)
        assert "Nothing is running." == text(await stop.handle(alone), SessionCleared(0, [], False))

    async def test_long_and_odd_texts_are_quoted_short_and_literal(self):
        """One line, no Markdown, sixty characters."""
        said = text(await reply("stop"), SessionCleared(1, ["**x**\n" + "y" * 500], True))
        assert "“\\*\\*x\\*\\* yyy" in said
        assert len(said) < 150

    async def test_it_speaks_spanish(self):
        """As all of them."""
        said = text(await reply("stop", who=SPANISH), SessionCleared(1, ["hola"], True))
        assert "Parado. Quitado 1 mensaje que esperaba: “hola”" == said


class TestNew:
    async def test_it_begins_anew_and_tells_what_waited(self):
        """Practice data stay."""
        answer = await reply("new")
        assert SessionAction.NEW == answer.session
        said = text(answer, SessionCleared(1, ["x"], False))
        assert "A new conversation." in said
        assert "Cleared 1 waiting message: “x”" in said


class TestMode:
    async def test_it_is_told_and_set(self):
        """Two modes are there."""
        assert "**followup**" in text(await reply("mode", session=Session("followup")))
        answer = await reply("mode", " FollowUp ")
        assert SetMode("followup") == answer.session
        assert "**followup**" in text(answer)

    async def test_an_unknown_one_is_explained(self):
        """With those there are."""
        answer = await reply("mode", "turbo")
        assert answer.session is None
        assert "There is no mode “turbo”." in text(answer)


class TestLanguage:
    @pytest.mark.parametrize("written", ["es", "Español", "Spanish"])
    async def test_it_sticks_and_is_spoken_at_once(self, written: str):
        """By its code or its name, in either language."""
        answer = await reply("language", written)
        assert SetLanguage("es") == answer.session
        assert "Desde ahora te hablo en **español**" in text(answer)

    @pytest.mark.parametrize(("written", "told"), [("", "I speak **English**"), ("klingon", "English and Spanish")])
    async def test_anything_else_tells(self, written: str, told: str):
        """And changes nothing."""
        answer = await reply("language", written)
        assert answer.session is None
        assert told in text(answer)


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
    async def test_a_city_is_enough(self, written: str, zone: str):
        """In any case, with spaces."""
        answer = await reply("timezone", written)
        assert SetTimezone(zone) == answer.session
        assert zone.replace("_", "\\_") in text(answer)

    async def test_the_time_there_is_told(self):
        """So that a wrong one is seen at once."""
        assert "it is 13:00 there" in text(await reply("timezone", "Europe/Madrid"))

    async def test_without_an_argument_it_tells(self):
        """And says how to change it."""
        answer = await reply("timezone")
        assert answer.session is None
        assert "**UTC**; it is 12:00 there" in text(answer)

    @pytest.mark.parametrize("written", ["Europe/Madird", "Madird"])
    async def test_a_slip_gets_the_nearest(self, written: str):
        """Not set, only asked."""
        answer = await reply("timezone", written)
        assert answer.session is None
        assert "Did you mean Europe/Madrid" in text(answer)

    @pytest.mark.parametrize("written", ["UTC+2", "../../etc/passwd", "\x00", "x" * 5000, "*"])
    async def test_what_is_no_zone_is_explained(self, written: str):
        """And nothing is set."""
        assert (await reply("timezone", written)).session is None

    @pytest.mark.parametrize("written", ["UTC+2", "GMT-3", "+05:30", "CEST", "EST"])
    async def test_an_offset_or_an_abbreviation_is_taken_for_no_other_zone(self, written: str):
        """“Did you mean UTC?” would move whoever lives in UTC+2 by two hours, and CEST is not Australia/West."""
        answer = await reply("timezone", written)
        assert answer.session is None
        assert "region and city" in text(answer)

    def test_nothing_near_is_nothing(self):
        """No guess out of nothing."""
        assert find_zone("qqqq") is None
        assert () == near_zones("qqqq")


class TestStart:
    async def test_it_says_who_and_how(self):
        """With the person's name as it is."""
        said = text(await reply("start", who=replace(ANA, display_name="*Ana*")))
        assert "Hello, \\*Ana\\*!" in said
        assert "/help" in said
        assert "/log" not in said

    async def test_an_agent_says_it_in_its_own_words(self):
        """In each language; what it has no words for, everybody's are said for it."""
        commands = {command.name: command for command in session_commands(COACH.catalogue)}
        for who, hello in ((ANA, "/log 45m guitar scales"), (SPANISH, "/log 45m guitarra escalas")):
            asked = Invocation("start", "", who, NOW, Session(), "inbox:1")
            assert hello in text(await commands["start"].handle(asked))
            assert "/log" not in text(await commands["mode"].handle(asked))
