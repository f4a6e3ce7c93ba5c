"""Our commands in Discord's form."""

from channels.discord.commands import commands_of, same_commands
from channels.simulators.discord.checks import check_commands

MENUS = {"en": [("log", "Log"), ("stats", "S" * 150), ("mode", "Mode"), ("other", "")], "es": [("log", "Anota")]}


def test_discord_takes_all_of_them():
    """Names, lengths, order of options: the simulator's checks, which are Discord's, find nothing."""
    commands = commands_of(MENUS)
    assert commands == check_commands(list(commands))
    assert ["coach", "log", "stats", "mode", "other"] == [command["name"] for command in commands]
    assert [100, 1] == [len(str(commands[at]["description"])) for at in (2, 4)]


def test_a_coach_in_the_menu_is_not_there_twice():
    """`/coach` is ours in any case."""
    assert ["coach"] == [command["name"] for command in commands_of({"": [("coach", "x")]})]


def test_what_discord_adds_makes_no_difference():
    """Ids, versions and empty fields are Discord's; a changed word is ours."""
    wanted = commands_of(MENUS)
    there = [command | {"id": "1", "version": "2", "nsfw": False} for command in wanted]
    assert same_commands(there, wanted)
    assert not same_commands(there[:-1], wanted)
    assert not same_commands([*there[:-1], there[-1] | {"description": "new"}], wanted)
    assert not same_commands({"message": "no"}, wanted)
