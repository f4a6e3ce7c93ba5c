"""Command table: parses commands, lists them in menus and help, and suggests names for unknown ones."""

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

from agent.catalogue import NAMES, Catalogue
from agent.ports import Principal
from agent.transcript import SuggestedReply
from channels.base import CommandOption, CommandSpec, Menus
from gateway.access.api_keys import Scope
from gateway.access.config import Role
from gateway.commands.base import Command, HelpGroup, Invocation, Reply
from gateway.texts import HARNESS

_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:\s+(.*))?\Z", re.DOTALL)

TALK_OPTIONS = (CommandOption("text", "menu.talk.text", required=True),)


def with_own(own: Sequence[Command], every: Sequence[Command]) -> tuple[Command, ...]:
    """Return an agent's own commands, and the common ones that it does not replace."""
    names = {command.name for command in own}
    return (*own, *(command for command in every if command.name not in names))


class CommandTable:
    """Commands by name, with `/help`, and the command `talk` whose text is an ordinary message."""

    def __init__(self, commands: Sequence[Command], talk: str = "talk", texts: Catalogue = HARNESS) -> None:
        """Take commands with unique lower-case names other than `talk`.

        Raises:
            ValueError: two commands have the same name.
        """
        which = CommandOption("what", "menu.help.what")
        listing = Command("help", "menu.help", self._help, options=(which,), group=HelpGroup.CHAT)
        self.talk = talk
        self._texts = texts
        self._commands: dict[str, Command] = {}
        self._fixed_system = self._system = {command.name: command for command in commands if command.system}
        for command in (*(command for command in commands if not command.system), listing):
            if command.name in self._commands or command.name == talk:
                raise ValueError(f"two commands are called /{command.name}")
            self._commands[command.name] = command
        self._fixed = dict(self._commands)

    def replace_added(self, added: Sequence[Command]) -> None:
        """Take the commands of capabilities in place of those before; a name that is taken stays with its command."""
        taken = {*self._fixed, *self._fixed_system, self.talk}
        free = {command.name: command for command in added if command.name not in taken}
        self._commands = self._fixed | {name: command for name, command in free.items() if not command.system}
        self._system = self._fixed_system | {name: command for name, command in free.items() if command.system}

    def parse(self, text: str) -> tuple[Command | None, str, str] | None:
        """Return the command of a text, its name and its arguments.

        None: the text is not a command. A command of None: an unknown one.
        """
        match = _COMMAND.match(text.strip())
        if match is None:
            return None
        name = match[1].lower()
        return self._commands.get(name), name, (match[2] or "").strip()

    def calls(self, words: str) -> bool:
        """Return True if words without a slash are a command and not a sentence: its name alone, with one of its
        choices, or with something that is not a word ("sessions 2", "mode collect").
        """
        name, *rest = words.split()
        command = self._commands.get(name.lower())
        if command is None or (command.turn is not None and rest):
            return False
        choices = {choice for option in command.options for choice in option.choices}
        return all(word.lower() in choices or not word.isalpha() for word in rest)

    @property
    def _listed(self) -> Sequence[Command]:
        return [command for command in self._commands.values() if not command.hidden]

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all commands that people can type."""
        return frozenset(self._commands)

    def of_system(self, name: str) -> Command | None:
        """Return the command that answers an event of the gateway, or None."""
        return self._system.get(name)

    def specs(self) -> list[CommandSpec]:
        """Return all commands for menus, not translated."""
        return [CommandSpec(each.name, each.summary, each.options, each.shared) for each in self._listed]

    def menus(self) -> Menus:
        """Return the menus of members, by language; the command `talk` is first."""
        shown = [command for command in self._listed if Role.MEMBER.allows(command.least_role)]
        talk = CommandSpec(self.talk, "menu.talk", TALK_OPTIONS, shared=True, talks=True)
        specs = [talk, *(CommandSpec(each.name, each.summary, each.options, each.shared) for each in shown)]
        return {language: [self._in_words(spec, language) for spec in specs] for language in NAMES}

    def _in_words(self, spec: CommandSpec, language: str) -> CommandSpec:
        said = self._texts.text
        options = [replace(option, description=said(language, option.description)) for option in spec.options]
        return replace(spec, summary=said(language, spec.summary), options=tuple(options))

    def nearest(self, name: str) -> str | None:
        """Return the most similar command, or None."""
        return next(iter(get_close_matches(name.lower(), [each.name for each in self._listed], n=1, cutoff=0.6)), None)

    def unknown(self, name: str, principal: Principal) -> str:
        """Return the reply to an unknown command."""
        nearest = self.nearest(name)
        shown = re.sub(r"[^a-z0-9_]", "", name.lower())[:32].replace("_", "\\_")
        if nearest is None:
            return self._texts.text(principal.locale, "commands.unknown", name=shown)
        return self._texts.text(principal.locale, "commands.unknown_near", name=shown, nearest=nearest)

    def refusal(self, command: Command, principal: Principal, scopes: frozenset[str] | None) -> str | None:
        """Return why a person may not run a command, or None if they may; `scopes` as `Invocation` has them."""
        said = partial(self._texts.text, principal.locale)
        if not Role(principal.role).allows(command.least_role):
            roles = said(f"roles.{command.least_role.value}")
            return said("commands.not_allowed", name=command.name, roles=roles)
        needed = Scope.READ if command.lists_people else Scope.OPERATE
        if scopes is None or needed in scopes or Role.MEMBER.allows(command.least_role):
            return None
        return said("commands.scope_missing", name=command.name, scope=needed.value)

    async def _help(self, asked: Invocation) -> Reply:
        """Name the commands that this person may use, in short lists; of a list or a command, say what each does."""
        mine = [each for each in self._listed if not self.refusal(each, asked.principal, asked.scopes)]
        groups = {group: [each for each in mine if _group_of(each) is group] for group in HelpGroup}
        groups = {group: commands for group, commands in groups.items() if commands}
        wanted = asked.arguments.strip().removeprefix("/").casefold()
        chosen = next((group for group in groups if wanted in _words_of(group, asked)), None)
        offers = tuple(
            SuggestedReply(asked.say(f"help.{group.value}"), f"/help {group.value}")
            for group in groups
            if group is not chosen
        )
        command = next((each for each in mine if each.name == wanted), None)
        if chosen is not None:
            lines = [f"**{asked.say(f'help.{chosen.value}')}**", "", *(_line(each, asked) for each in groups[chosen])]
        elif command is not None:
            lines = [_line(command, asked), *(f"  - {asked.say(option.description)}" for option in command.options)]
        else:
            names = {group: " · ".join(f"/{each.name}" for each in commands) for group, commands in groups.items()}
            lines = [f"**{asked.say(f'help.{group.value}')}**: {said}\n" for group, said in names.items()]
            lines.append(asked.say("commands.help_tail"))
        text = "\n".join(lines)
        typed = asked.say("help.typed", lists=", ".join(f"`/help {offer.label.casefold()}`" for offer in offers))
        return Reply(text, offers=offers, typed=typed)


def _group_of(command: Command) -> HelpGroup:
    return command.group if Role.MEMBER.allows(command.least_role) else HelpGroup.OWNER


def _words_of(group: HelpGroup, asked: Invocation) -> tuple[str, ...]:
    return (group.value, asked.say(f"help.{group.value}").casefold())


def _line(command: Command, asked: Invocation) -> str:
    return f"- /{command.name}: {asked.say(command.summary)}"
