"""Operators' commands about people: `/users /requests /approve /deny /block /role /invite`, in direct chats only.

Each action checks the operator's rank in its commit.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.catalogue import escape
from agent.errors import Refused
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.access.codes import CONSOLE_BULLETS, INVITE_BULLETS, invite_ref
from gateway.access.config import Role
from gateway.access.pairing import SHOWN_NAME_CHARS
from gateway.access.policy import AccessSnapshot
from gateway.commands.base import Command, Handle, HelpGroup, Invocation, Reply, Write
from gateway.commands.decisions import access_decisions, whom
from gateway.commands.groups import group_decisions
from gateway.commands.linking import LinkDeps, link_decisions
from gateway.commands.session import person_changed
from gateway.operators.actions import OperationRefused
from gateway.operators.invites import GIVEN_ROLES
from gateway.operators.models import MAX_WHO_CHARS, BlockWish, InviteTerms, RoleChange, User
from gateway.operators.service import Operators
from gateway.safety.names import shown_name
from gateway.store import people
from gateway.store.engine import Connection

SHOWN = 40
"""Maximum of people or requests in one answer."""

NUMBER_CHARS = 8


@dataclass(frozen=True, slots=True)
class PeopleServices:
    """Dependencies of the commands about people."""

    operators: Operators
    linking: LinkDeps
    people: AccessSnapshot

    def decisions(self) -> Mapping[str, Handle]:
        """Return the buttons under requests, links and groups."""
        return {
            **access_decisions(self.operators),
            **link_decisions(self.linking),
            **group_decisions(self.people, self.operators),
        }


def people_commands(services: PeopleServices) -> tuple[Command, ...]:
    """Return the commands for operators and owners."""
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
    """Show the person's name, or change it."""
    wanted = shown_name(asked.arguments)[:SHOWN_NAME_CHARS]
    if wanted:
        return Write(_set_name, asked, wanted)
    return Reply(asked.say("people.name_is", name=asked.principal.display_name.replace("`", "'")))


def _set_name(connection: Connection, asked: Invocation, wanted: str) -> Reply:
    if (person := people.person_of(connection, asked.principal.user_id)) is not None:
        people.set_name(connection, person, wanted, asked.clock())
    said = asked.say("people.name_set", name=wanted.replace("`", "'"))
    return Reply(said, changed=person_changed(connection, asked))


NAME = Command("name", "menu.name", name, options=(CommandOption("name", "menu.name.name"),), group=HelpGroup.ACCOUNT)


class _PeopleReplies:
    """Handlers of the commands about people."""

    def __init__(self, services: PeopleServices) -> None:
        self._operators = services.operators

    def guard(self, handle: Handle) -> Handle:
        """Return the handler limited to direct chats."""

        @functools.wraps(handle)
        async def run(asked: Invocation) -> Reply | Write:
            if not asked.direct:
                raise Refused("people.only_direct", name=asked.name)
            return await handle(asked)

        return run

    async def users(self, asked: Invocation) -> Reply:
        """List people that match the words, or all."""
        wanted = clean(asked.arguments).casefold()
        known = (await self._operators.list_users(asked.principal.user_id)).users
        found = [user for user in known if wanted in _search_words(user)]
        if not found:
            return Reply(asked.say("people.nobody"))
        lines = [self._user_line(user, asked) for user in found[:SHOWN]]
        tail = asked.say("people.users_tail")
        return Reply("\n\n".join([*_shorten(asked, lines, len(found)), tail]))

    def _user_line(self, user: User, asked: Invocation) -> str:
        number, role = user.user[-NUMBER_CHARS:], asked.say(f"people.role_{user.role}")
        you = asked.say("people.you") if user.user == asked.principal.user_id else ""
        return f"- `{number}` {role}{you}: {whom(user)}"

    async def console(self, asked: Invocation) -> Reply:
        """Send a link that opens the console once; its secret is not stored."""
        made = await self._operators.console_link(asked.principal.user_id)
        kept = f"{made.link.partition('#')[0]}#{CONSOLE_BULLETS}"
        return Reply(asked.say("people.console", link=kept), secret_ref=made.ref)

    async def requests(self, asked: Invocation) -> Reply:
        """List pending requests, the likeliest first."""
        waiting = (await self._operators.list_requests(asked.principal.user_id)).requests
        if not waiting:
            return Reply(asked.say("people.nobody_waits"))
        lines = [
            f"- `{request.request[-NUMBER_CHARS:]}` {whom(request)}, {escape(request.account)}"
            for request in waiting[:SHOWN]
        ]
        tail = asked.say("people.requests_tail")
        return Reply("\n\n".join([*_shorten(asked, lines, len(waiting)), tail]))

    async def approve(self, asked: Invocation) -> Reply:
        """Approve the request with this number."""
        done = await self._operators.approve_request(asked.principal.user_id, _number(asked, "approve"))
        return Reply(asked.say("access.approved", who=whom(done)))

    async def deny(self, asked: Invocation) -> Reply:
        """Deny a request without telling the person."""
        done = await self._operators.deny(asked.principal.user_id, _number(asked, "deny"))
        return Reply(asked.say("access.denied", who=whom(done)))

    async def block(self, asked: Invocation) -> Reply:
        """Block a person."""
        who = BlockWish(who=_number(asked, "block")[:MAX_WHO_CHARS])
        done = await self._operators.block(asked.principal.user_id, who)
        unheard = (done.name,) == done.senders  # only the typed sender is known
        return Reply(asked.say("access.blocked_unheard" if unheard else "access.blocked", who=whom(done)))

    async def role(self, asked: Invocation) -> Reply:
        """Give a person another role; `member` also ends a block."""
        who, _, typed = _number(asked, "role").rpartition(" ")
        if not who:
            raise OperationRefused("people.give_role", roles=", ".join(Role))
        if typed.lower() not in tuple(Role):
            raise OperationRefused("access.no_role", role=typed.lower(), roles=", ".join(Role))
        wanted = RoleChange(role=Role(typed.lower()))
        done = await self._operators.set_role(asked.principal.user_id, who.strip(), wanted)
        said = asked.say(f"people.role_{done.role}")
        return Reply(asked.say("people.changed", who=whom(done), role=said))

    async def invite(self, asked: Invocation) -> Reply:
        """Make an invitation; its code is shown once and not stored."""
        terms = InviteTerms(role=clean(asked.arguments).lower() or str(Role.MEMBER))
        made = await self._operators.invite(asked.principal.user_id, terms)
        ways = await self._operators.process.bot_links(INVITE_BULLETS, asked.principal.tenant)
        lines = "\n".join(f"- {escape(way.account)}: {way.link}" for way in ways)
        text = asked.say(
            "people.invited",
            role=asked.say(f"people.role_{made.role}"),
            code=INVITE_BULLETS,
            links=f"{lines}\n" if lines else "",
            until=f"{made.expires_at:%Y-%m-%d %H:%M}",
            number=made.invite[-NUMBER_CHARS:],
        )
        return Reply(text, secret_ref=invite_ref(made.invite))


def _number(asked: Invocation, name: str) -> str:
    """Return the text after the command, on one line.

    Raises:
        OperationRefused: there is none.
    """
    given = " ".join(clean(asked.arguments).split()).strip("`")
    if not given:
        raise OperationRefused(f"people.give_{name}", roles=", ".join(Role))
    return given


def _search_words(user: User) -> str:
    return " ".join((user.name, user.role, str([*user.senders]), user.user)).casefold()


def _shorten(asked: Invocation, lines: Sequence[str], count: int) -> list[str]:
    """Return the lines as one list, and how many were left out."""
    more = [asked.plural("commands.and_more", count - len(lines))] if count > len(lines) else []
    return ["\n".join(lines), *more]
