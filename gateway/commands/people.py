"""Operators decide about people from a chat of their own: `/users /requests /approve /deny /block /role /invite`.

What an operation means, and who may, is `gateway.access`'s: each asks it again in its commit. Nothing of it is said
where others read along.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import JsonValue

from agent.catalogue import escape
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.access.codes import CONSOLE_BULLETS, INVITE_BULLETS, invite_ref
from gateway.access.config import Role
from gateway.access.invites import GIVEN_ROLES, InviteOperations
from gateway.access.operations import AccessOperations, OperationRefused
from gateway.access.pairing import SHOWN_NAME_CHARS
from gateway.access.policy import AccessSnapshot
from gateway.commands.base import Cleared, Command, Handle, Invocation, Reply, Write
from gateway.commands.decisions import access_decisions, whom
from gateway.commands.groups import group_decisions
from gateway.commands.linking import LinkDeps, link_decisions
from gateway.commands.session import begin_conversation, person_changed
from gateway.safety.names import shown_name
from gateway.store import erasure, people
from gateway.store.engine import Connection
from gateway.store.erasure import Extent

SHOWN = 40
"""People or requests in one answer."""

NUMBER_CHARS = 8
INVITE_DAYS = "7"


class Links(Protocol):
    """Where people open an invitation, and operators the console."""

    async def ways(self, code: str, tenant: str) -> list[JsonValue]:
        """Return the links that bring a code to one of the tenant's bots, each with its account."""
        ...

    async def console_link(self, by: str) -> tuple[str, str]:
        """Return an address that opens the console once for this actor, and the ref of the secret in it."""
        ...


@dataclass(frozen=True, slots=True)
class PeopleServices:
    """What the commands about people of one tenant work with."""

    access: AccessOperations
    invites: InviteOperations
    links: Links
    linking: LinkDeps
    people: AccessSnapshot

    def decisions(self) -> Mapping[str, Handle]:
        """What the buttons under requests, links and groups do."""
        return {
            **access_decisions(self.access),
            **link_decisions(self.linking),
            **group_decisions(self.people, self.access),
        }


def people_commands(services: PeopleServices) -> tuple[Command, ...]:
    """The commands for operators and owners alone."""
    replies = _PeopleReplies(services)
    who, number = CommandOption("who", "menu.role.who", required=True), CommandOption("number", "menu.approve.number")
    roles = CommandOption("role", "menu.role.role", choices=tuple(Role))
    rows: tuple[tuple[str, Handle, tuple[CommandOption, ...]], ...] = (
        ("users", replies.users, (CommandOption("words", "menu.users.words"),)),
        ("requests", replies.requests, ()),
        ("approve", replies.approve, (number,)),
        ("deny", replies.deny, (number,)),
        ("block", replies.block, (who,)),
        ("role", replies.role, (who, roles)),
        ("invite", replies.invite, (CommandOption("role", "menu.invite.role", choices=tuple(GIVEN_ROLES)),)),
        ("console", replies.console, ()),
    )
    return tuple(
        Command(
            name,
            f"menu.{name}",
            replies.guard(handle),
            least_role=Role.OPERATOR,
            options=options,
            lists_people=name in {"users", "requests"},
        )
        for name, handle, options in rows
    )


async def name(asked: Invocation) -> Reply | Write:
    """Say what the person is called, or change it."""
    wanted = shown_name(asked.arguments)[:SHOWN_NAME_CHARS]
    if wanted:
        return Write(_set_name, asked, wanted)
    return Reply(asked.say("people.name_is", name=asked.principal.display_name.replace("`", "'")))


def _set_name(connection: Connection, asked: Invocation, wanted: str) -> Reply:
    if (person := people.person_of(connection, asked.principal.user_id)) is not None:
        people.set_name(connection, person, wanted, asked.clock())
    said = asked.say("people.name_set", name=wanted.replace("`", "'"))
    return Reply(said, changed=person_changed(connection, asked))


NAME = Command("name", "menu.name", name, options=(CommandOption("name", "menu.name.name"),))


class _PeopleReplies:
    """What each of them answers."""

    def __init__(self, services: PeopleServices) -> None:
        self._access = services.access
        self._services = services

    def guard(self, handle: Handle) -> Handle:
        """The same, in a direct chat alone, with a refusal told as one."""

        @functools.wraps(handle)
        async def run(asked: Invocation) -> Reply | Write:
            if not asked.direct:
                return Reply(asked.say("people.only_direct", name=asked.name))
            try:
                return await handle(asked)
            except OperationRefused as refused:
                why = escape(refused.text(asked.principal.locale))
                return Reply(asked.say("access.nothing_changed", why=why))

        return run

    async def users(self, asked: Invocation) -> Reply:
        """Everybody known, or whoever these words are about."""
        wanted = clean(asked.arguments).casefold()
        known = [user for user in await self._access.users() if isinstance(user, dict)]
        found = [user for user in known if wanted in _search_words(user)]
        if not found:
            return Reply(asked.say("people.nobody"))
        lines = [self._user_line(user, asked) for user in found[:SHOWN]]
        tail = asked.say("people.users_tail")
        return Reply("\n\n".join([*_shorten(asked, lines, len(found)), tail]))

    def _user_line(self, user: Mapping[str, JsonValue], asked: Invocation) -> str:
        number, role = str(user["user"])[-NUMBER_CHARS:], asked.say(f"people.role_{user['role']}")
        you = asked.say("people.you") if user["user"] == asked.principal.user_id else ""
        return f"- `{number}` {role}{you}: {whom(user)}"

    async def console(self, asked: Invocation) -> Reply:
        """A link that opens the console once, for whoever asked; its secret is kept nowhere."""
        link, ref = await self._services.links.console_link(asked.principal.user_id)
        kept = f"{link.partition('#')[0]}#{CONSOLE_BULLETS}"
        return Reply(asked.say("people.console", link=kept), secret_ref=ref)

    async def requests(self, asked: Invocation) -> Reply:
        """Who waits to be let in, the likeliest first."""
        waiting = [request for request in await self._access.list_requests() if isinstance(request, dict)]
        if not waiting:
            return Reply(asked.say("people.nobody_waits"))
        lines = [
            f"- `{str(request['request'])[-NUMBER_CHARS:]}` {whom(request)}, {escape(str(request['account']))}"
            for request in waiting[:SHOWN]
        ]
        tail = asked.say("people.requests_tail")
        return Reply("\n\n".join([*_shorten(asked, lines, len(waiting)), tail]))

    async def approve(self, asked: Invocation) -> Reply:
        """Let in who made the request of this number."""
        done = await self._access.approve_request(_number(asked, "approve"), asked.principal.user_id)
        return _reply_about(asked, "access.approved", done)

    async def deny(self, asked: Invocation) -> Reply:
        """Turn it down, in silence."""
        done = await self._access.deny(_number(asked, "deny"), asked.principal.user_id)
        return _reply_about(asked, "access.denied", done)

    async def block(self, asked: Invocation) -> Reply:
        """Answer somebody no more."""
        who = _number(asked, "block")
        done = await self._access.block(who, asked.principal.user_id)
        unheard = [done.get("name")] == done.get("senders")  # what was typed is all that is known of them
        return _reply_about(asked, "access.blocked_unheard" if unheard else "access.blocked", done)

    async def role(self, asked: Invocation) -> Reply:
        """Give somebody another role; `member` ends a block, too."""
        who, _, role = _number(asked, "role").rpartition(" ")
        if not who:
            raise OperationRefused("people.give_role", roles=", ".join(Role))
        done = await self._access.set_role(who.strip(), role.lower(), asked.principal.user_id)
        said = asked.say(f"people.role_{done['role']}")
        return Reply(asked.say("people.changed", who=whom(done), role=said))

    async def invite(self, asked: Invocation) -> Reply:
        """An invitation for one person, its code shown this once and kept nowhere."""
        role = clean(asked.arguments).lower() or str(Role.MEMBER)
        made = await self._services.invites.make(role, INVITE_DAYS, asked.principal.user_id)
        found = await self._services.links.ways(INVITE_BULLETS, asked.principal.tenant)
        ways = [way for way in found if isinstance(way, dict)]
        lines = "\n".join(f"- {escape(str(way['account']))}: {way['link']}" for way in ways)
        said = asked.say(f"people.role_{made['role']}")
        text = asked.say(
            "people.invited", role=said, code=INVITE_BULLETS, links=f"{lines}\n" if lines else "",
            until=str(made["expires_at"])[:16].replace("T", " "), number=str(made["invite"])[-NUMBER_CHARS:],
        )  # fmt: skip
        return Reply(text, secret_ref=invite_ref(str(made["invite"])))


def _number(asked: Invocation, name: str) -> str:
    """What was given behind the command, on one line.

    Raises:
        OperationRefused: nothing was.
    """
    given = " ".join(clean(asked.arguments).split()).strip("`")
    if not given:
        raise OperationRefused(f"people.give_{name}", roles=", ".join(Role))
    return given


def _reply_about(asked: Invocation, key: str, about: Mapping[str, JsonValue]) -> Reply:
    return Reply(asked.say(key, who=whom(about)))


def _search_words(user: Mapping[str, JsonValue]) -> str:
    return " ".join(str(user[key]) for key in ("name", "role", "senders", "user")).casefold()


def _shorten(asked: Invocation, lines: Sequence[str], count: int) -> list[str]:
    """The lines as one list, and how many were left out."""
    more = [asked.plural("commands.and_more", count - len(lines))] if count > len(lines) else []
    return ["\n".join(lines), *more]


def refuse_to_forget(connection: Connection, asked: Invocation, extent: Extent) -> Reply | None:
    """Return why the person cannot be forgotten, or None if they can: the only owner stays, and is told what to do."""
    person = people.person_of(connection, asked.principal.user_id) if extent is Extent.EVERYTHING else None
    if person is None or not people.is_only_owner(connection, person):
        return None
    return Reply(asked.say("commands.only_owner"))


def forget_person(connection: Connection, asked: Invocation, extent: Extent, said: str) -> Reply:
    """Record the person's wish to be forgotten, and begin a new conversation.

    Ask `refuse_to_forget` before, in the same commit. Until the gateway has forgotten them their platform may repeat
    what they said up to this wish.
    """
    row, person = asked.row, people.person_of(connection, asked.principal.user_id)
    assert person is not None, "nobody else deletes a user, and whoever is being forgotten gives no command"
    wish = erasure.ask(connection, person, extent, row.id, row.event.received_at, asked.clock(), asked.session.mark)
    begun = begin_conversation(connection, asked, Cleared(unparked=wish.unparked))
    return Reply(said, changed=replace(begun, ended=False, forgotten=wish.forgotten))
