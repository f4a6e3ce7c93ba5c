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
    """Names, lengths, order of options: the simulator's checks, which are Discord's, find nothing."""
    commands = commands_of(MENUS)
    assert commands == check_commands(list(commands))
    assert ["coach", "log", "stats", "mode", "other"] == [command["name"] for command in commands]
    assert [100, 1] == [len(str(commands[at]["description"])) for at in (2, 4)]


def test_an_option_is_as_its_command_says():
    """Asked for or not, of a list or free; a command without any takes none."""
    options = {str(command["name"]): command["options"] for command in commands_of(MENUS)}
    described = {"type": 3, "name": "text", "description": "What you practised", "required": True}
    assert [described] == options["log"]
    choices = [{"name": mode, "value": mode} for mode in ("steer", "followup")]
    assert [{**described, "name": "mode", "description": MODE.description, "required": False, "choices": choices}] == (
        options["mode"]
    )
    assert [] == options["stats"]


def test_an_option_is_described_in_every_language():
    """Where it is said otherwise there."""
    spanish = {"es": [CommandSpec("log", "Anota", (CommandOption("text", "Qué practicaste", required=True),))]}
    (log,) = [command for command in commands_of(MENUS | spanish) if command["name"] == "log"]
    there = {"es-ES": "Qué practicaste", "es-419": "Qué practicaste"}
    assert [("What you practised", there)] == [
        (option["description"], option["description_localizations"]) for option in log["options"]
    ]
    assert [log] == check_commands([log])
    assert not same_commands(commands_of(MENUS), commands_of(MENUS | spanish))


def test_what_is_shared_is_known_by_its_name():
    """In whatever language; nothing else is."""
    assert {"coach", "mode"} == shared_names(MENUS)
    assert frozenset() == shared_names({})


def test_what_discord_adds_makes_no_difference():
    """Ids, versions and empty fields are Discord's; a changed word is ours."""
    wanted = commands_of(MENUS)
    there = [command | {"id": "1", "version": "2", "nsfw": False} for command in wanted]
    assert same_commands(there, wanted)
    assert not same_commands(there[:-1], wanted)
    assert not same_commands([*there[:-1], there[-1] | {"description": "new"}], wanted)
    assert not same_commands({"message": "no"}, wanted)
