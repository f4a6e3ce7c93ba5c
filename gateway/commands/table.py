"""The one table of commands: finds what a text calls, lists what there is, and says what it does not know."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from agent.language import NAMES, language_of
from agent.ports import Principal
from channels.base import CommandOption, CommandSpec, Menus
from gateway.access.roles import Role
from gateway.commands.base import Command, Invocation, Reply
from gateway.commands.texts import CommandTexts

_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:\s+(.*))?\Z", re.DOTALL)

TALK_OPTIONS = (CommandOption("text", "What you want to say", required=True),)


class CommandTable:
    """Commands by name, `/help` included, and the one whose text is a message like any other."""

    def __init__(
        self,
        commands: Sequence[Command],
        talk: str = "talk",
        talk_summary: Mapping[str, str] = MappingProxyType({"en": "Talk with me"}),
        texts: CommandTexts | None = None,
    ) -> None:
        """Names are lower case and unique; `talk` is not among them.

        Raises:
            ValueError: two commands have one name.
        """
        listing = Command("help", {"en": "What I understand", "es": "Lo que entiendo"}, self._help)
        self.talk = talk
        self._talk_summary = talk_summary
        self._tell = (texts or CommandTexts()).tell
        self._commands: dict[str, Command] = {}
        for command in (*commands, listing):
            if command.name in self._commands or command.name == talk:
                raise ValueError(f"two commands are called /{command.name}")
            self._commands[command.name] = command

    def parse(self, text: str) -> tuple[Command | None, str, str] | None:
        """The command a text calls, its name and its arguments, lines kept.

        None: the text is no command. A command of None: it looks like one that we do not have.
        """
        match = _COMMAND.match(text.strip())
        if match is None:
            return None
        name = match[1].lower()
        return self._commands.get(name), name, (match[2] or "").strip()

    def menus(self) -> Menus:
        """What members can choose from, by language; what carries a message stands first."""
        shown = [command for command in self._commands.values() if Role.MEMBER.allows(command.least_role)]
        return {
            language: [self._talk_spec(language), *(_spec(command, language) for command in shown)]
            for language in NAMES
        }

    def _talk_spec(self, language: str) -> CommandSpec:
        return CommandSpec(self.talk, _in(self._talk_summary, language), TALK_OPTIONS, shared=True, talks=True)

    def nearest(self, name: str) -> str | None:
        """The command spelled most like it; None where none is close."""
        return next(iter(get_close_matches(name.lower(), self._commands, n=1, cutoff=0.6)), None)

    def unknown(self, name: str, principal: Principal) -> str:
        """What to say to a command we do not have."""
        nearest = self.nearest(name)
        shown = re.sub(r"[^a-z0-9_]", "", name.lower())[:32].replace("_", "\\_")
        if nearest is None:
            return self._tell(principal, "unknown_far", name=shown)
        return self._tell(principal, "unknown", name=shown, nearest=nearest)

    def not_allowed(self, command: Command, principal: Principal) -> str:
        """What to say to somebody whose role is too low."""
        return self._tell(principal, "not_allowed", name=command.name, role=command.least_role.value)

    async def _help(self, asked: Invocation) -> Reply:
        """Every command this person may use, a line each."""
        role, language = Role(asked.principal.role), language_of(asked.principal.locale)
        mine = [command for command in self._commands.values() if role.allows(command.least_role)]
        lines = "\n".join(f"- /{command.name}: {_in(command.summary, language)}" for command in mine)
        title, tail = self._tell(asked.principal, "help_title"), self._tell(asked.principal, "help_tail")
        return Reply(f"{title}\n\n{lines}\n\n{tail}")


def _spec(command: Command, language: str) -> CommandSpec:
    return CommandSpec(command.name, _in(command.summary, language), command.options, command.shared)


def _in(language_texts: Mapping[str, str], language: str) -> str:
    return language_texts.get(language) or language_texts["en"]
