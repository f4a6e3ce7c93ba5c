"""The one table of commands."""

from dataclasses import replace

import pytest

from agent.ports import Principal
from gateway.access.config import Role
from gateway.coach.commands import coach_commands
from gateway.coach.product import COACH
from gateway.commands.base import Command, Invocation, Reply
from gateway.commands.session import SESSION_COMMANDS
from gateway.commands.table import CommandTable, with_own
from tests.fakes.invocations import invocation
from tests.fakes.practice_reader import ANA, FakePractice


async def _nothing(asked: Invocation) -> Reply:
    return Reply("")


PAIR = Command("pair", "Let somebody in", _nothing, least_role=Role.OPERATOR)
TABLE = CommandTable(with_own(coach_commands(FakePractice()), (*SESSION_COMMANDS, PAIR)), "coach", COACH.catalogue)


@pytest.mark.parametrize("name", ["My Time", "", "a" * 33, "zeit-ä"])
def test_a_name_that_platforms_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="needs a name of 1 to 32 letters"):
        replace(PAIR, name=name)


class TestParsing:
    @pytest.mark.parametrize(
        ("text", "name", "arguments"),
        [
            ("/log 45m guitar", "log", "45m guitar"),
            ("  /LOG   45m guitar  ", "log", "45m guitar"),
            ("/log\n45m guitar\nscales", "log", "45m guitar\nscales"),
            ("/stop", "stop", ""),
            ("/help", "help", ""),
        ],
    )
    def test_a_command_has_a_name_and_arguments(self, text, name, arguments):
        command, called, said = TABLE.parse(text) or (None, "", "")
        assert command is not None
        assert (name, name, arguments) == (command.name, called, said)

    @pytest.mark.parametrize(
        "text", ["", "hello", "45m guitar", "/", "/ log", "/etc/passwd", "//", "/" + "x" * 33, "/lög 1"]
    )
    def test_other_text_is_no_command(self, text):
        assert TABLE.parse(text) is None

    def test_an_unknown_command_is_known_as_one(self):
        assert (None, "staats", "x") == TABLE.parse("/staats x")


class TestHidden:
    @pytest.mark.parametrize(
        ("typed", "like"),
        [
            ("timer", "start"),
            ("cronometro", "start"),
            ("goals", "goal"),
            ("meta", "goal"),
            ("metas", "goal"),
            ("reminders", "remind"),
            ("recordatorios", "remind"),
        ],
    )
    def test_another_name_is_the_same_command(self, typed: str, like: str) -> None:
        other, same = (TABLE.parse(f"/{name} x") for name in (typed, like))
        assert other is not None and other[0] is not None and same is not None and same[0] is not None
        assert replace(same[0], name=typed, hidden=True) == other[0]
        assert typed not in TABLE.unknown("recordatorio", ANA)

    async def test_a_hidden_command_runs_and_is_listed_nowhere(self):
        table = CommandTable([Command("secretly", "Not listed", _nothing, hidden=True)], "coach", COACH.catalogue)
        command, *_ = table.parse("/secretly") or (None,)
        assert command is not None
        assert ["help"] == [spec.name for spec in table.specs()]
        assert ["coach", "help"] == [spec.name for spec in table.menus()["en"]]
        help_command, *_ = table.parse("/help") or (None,)
        assert help_command is not None
        assert "secretly" not in (await help_command.handle(invocation("help"))).text
        assert "secretly" not in table.unknown("secretl", ANA)


class TestWords:
    def test_the_nearest_is_named(self):
        assert "I don't know /staats. Did you mean /stats? /help lists everything." == TABLE.unknown("staats", ANA)
        assert "I don't know /qqq. /help lists everything." == TABLE.unknown("qqq", ANA)
        assert "No conozco /qqq." in TABLE.unknown("qqq", replace(ANA, locale="es"))

    def test_an_odd_name_is_literal(self):
        assert "/a\\_b" in TABLE.unknown("a_b*[x](y)", ANA)

    def test_a_low_role_is_told(self):
        assert "/pair is for operators of this bot." == TABLE.refusal(PAIR, ANA, scopes=None)

    @pytest.mark.parametrize(
        ("who", "arguments", "said", "unsaid"),
        [
            (ANA, "", "**Practice**: /log · /stats", "/pair"),
            (replace(ANA, role="operator"), "", "**Owner**: /pair", "Let somebody in"),
            (replace(ANA, role="operator"), "owner", "- /pair: Let somebody in", "/log"),
            (replace(ANA, locale="es"), "Práctica", "- /undo: Quitar la última anotación", "/help"),
            (ANA, "/undo", "/undo: Take back the last entry", "/log"),
            (ANA, "pair", "**Practice**: /log", "/pair"),
        ],
    )
    async def test_help_names_what_this_person_may_in_lists(
        self, who: Principal, arguments: str, said: str, unsaid: str
    ) -> None:
        command, _, _ = TABLE.parse("/help") or (None, "", "")
        assert command is not None
        reply = await command.handle(replace(invocation("help", arguments, texts=COACH.catalogue), principal=who))
        assert isinstance(reply, Reply)
        assert said in reply.text
        assert unsaid not in reply.text
        assert "/help account" in [offer.words for offer in reply.offers]


class TestMenus:
    def test_two_of_one_name_are_an_error(self):
        with pytest.raises(ValueError, match="/pair"):
            CommandTable((PAIR, PAIR))
