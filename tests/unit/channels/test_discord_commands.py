"""Our commands in Discord's form."""

from channels.base import CommandOption, CommandSpec
from channels.discord.payloads import commands_of, same_commands, shared_names
from channels.simulators.discord.checks import check_commands

TEXT = CommandOption("text", "What you practised", required=True)
MODE = CommandOption("mode", "How messages are taken", choices=("steer", "followup"))
MENUS = {
    "en": [
        CommandSpec("coach", "Talk", (TEXT,), shared=True, talks=True),
        CommandSpec("log", "Log", (TEXT,)),
        CommandSpec("stats", "S" * 150),
        CommandSpec("mode", "Mode", (MODE,), shared=True),
        CommandSpec("other", ""),
    ],
    "es": [CommandSpec("log", "Anota", (TEXT,))],
}


def test_discord_takes_all_of_them():
    commands = commands_of(MENUS)
    assert commands == check_commands(list(commands))
    assert ["coach", "log", "stats", "mode", "other"] == [command["name"] for command in commands]
    assert [100, 1] == [len(str(commands[at]["description"])) for at in (2, 4)]


def test_an_option_is_described_in_every_language():
    spanish = {"es": [CommandSpec("log", "Anota", (CommandOption("text", "Qué practicaste", required=True),))]}
    (log,) = [command for command in commands_of(MENUS | spanish) if command["name"] == "log"]
    there = {"es-ES": "Qué practicaste", "es-419": "Qué practicaste"}
    assert [("What you practised", there)] == [
        (option["description"], option["description_localizations"]) for option in log["options"]
    ]
    assert [log] == check_commands([log])
    assert not same_commands(commands_of(MENUS), commands_of(MENUS | spanish))


def test_what_is_shared_is_known_by_its_name():
    assert {"coach", "mode"} == shared_names(MENUS)
    assert frozenset() == shared_names({})
