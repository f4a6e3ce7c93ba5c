"""`/link` and `/unlink`: a person on several channels becomes one user, confirmed on both sides, and two again.

The rules are `gateway.access.linking`'s. Each step is one commit: what it changes, and what the other side is told.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from pydantic import JsonValue

from agent.language import escape
from agent.ports import Principal
from channels.base import CommandOption
from channels.messages import Address, Button, ButtonStyle
from gateway.access import linking
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.access.codes import BULLETS, normalise, secret_ref
from gateway.access.linking import Linked, LinkWhy, Side
from gateway.access.operations import CANONICAL_SENDER, OperationRefused
from gateway.commands.base import Command, Invocation, Reply
from gateway.commands.decisions import VOID, Decision, whom
from gateway.store.engine import Connection, Store
from gateway.store.people import Person
from gateway.store.tickets import TICKETS, Ticket
from gateway.texts import HARNESS

log = structlog.get_logger()

YES, NO = frozenset({"yes", "sí", "si", "ok"}), frozenset({"no", "cancel", "cancelar"})

Tell = Callable[[Connection, Person, Address, str, str, Sequence[Button]], None]
"""Put a message for somebody into the outbox: connection, they, where, cause, Markdown, buttons."""

Changed = Callable[[Sequence[Person], Sequence[Address], Sequence[str]], None]
"""People as they are now, where something waits to be said, and turns that wait no more; called after the commit."""

_NUMBER_CHARS = 6


@dataclass(frozen=True, slots=True)
class LinkDeps:
    """What linking works with in a running gateway."""

    store: Store
    key: bytes
    seals: SealedButtons
    clock: Callable[[], datetime]
    tell: Tell
    changed: Changed


UnlinkOf = Callable[[str, str], Awaitable[Mapping[str, JsonValue]]]
"""Undoes a link of another's: their sender, who wants it; who left.

Raises OperationRefused: it says why.
"""


async def _of_nobody(_who: str, _by: str) -> Mapping[str, JsonValue]:
    raise OperationRefused("people.not_now")


def link_commands(deps: LinkDeps, unlink_of: UnlinkOf = _of_nobody) -> tuple[Command, ...]:
    """For everybody: it is about oneself; operators may undo those of others."""
    replies = _LinkReplies(deps, unlink_of)
    code, number = CommandOption("code", "menu.link.code"), CommandOption("number", "menu.unlink.number")
    return (
        Command("link", "menu.link", replies.link, options=(code,)),
        Command("unlink", "menu.unlink", replies.unlink, options=(number,)),
    )


def link_decisions(deps: LinkDeps) -> Mapping[str, Decision]:
    """The buttons under the two questions that a link takes."""
    replies = _LinkReplies(deps)

    def deciding(step: Callable[[str | None, Principal], Awaitable[str]]) -> Decision:
        async def decision(subject: str, principal: Principal) -> Reply:
            link_id = long_id(subject)
            return Reply(await step(link_id, principal) if link_id else HARNESS.text(principal.locale, VOID))

        return decision

    steps = {"link_agree": replies.agree, "link_join": replies.connect, "link_no": replies.refuse}
    return {word: deciding(step) for word, step in steps.items()}


class _LinkReplies:
    """What each step does, and says to who takes it."""

    def __init__(self, deps: LinkDeps, unlink_of: UnlinkOf = _of_nobody) -> None:
        self._deps = deps
        self._unlink_of = unlink_of

    async def link(self, asked: Invocation) -> Reply:
        """Offer a code, take one, or answer what waits."""
        locale, given = asked.principal.locale, " ".join(asked.arguments.split())
        if not asked.direct or asked.address is None:
            return Reply(HARNESS.text(locale, "linking.only_direct"))
        if given.lower() in NO:
            return Reply(await self.refuse(None, asked.principal))
        if given.lower() in YES:
            return Reply(await self._say_yes(asked.principal))
        side = Side(asked.principal.user_id, asked.sender, asked.address)
        return await (self._give(asked, side, given) if given else self._offer(asked, side))

    async def _offer(self, asked: Invocation, side: Side) -> Reply:
        deps, principal = self._deps, asked.principal

        def job(connection: Connection) -> tuple[Ticket, Sequence[str]]:
            made = linking.offer(connection, principal.tenant, side, deps.clock())
            return made, [link.other_sender or "" for link in linking.list_held(connection, principal.user_id)]

        offered, held = await deps.store.write(job)
        minutes = int(linking.VALID.total_seconds() // 60)
        text = HARNESS.text(principal.locale, "linking.offered", code=BULLETS, minutes=minutes)
        if held:
            listed = ", ".join(f"`{sender}`" for sender in held)
            text += "\n\n" + HARNESS.text(principal.locale, "linking.held", senders=listed)
        return Reply(text, secret_ref=secret_ref(offered.id))

    async def _give(self, asked: Invocation, side: Side, typed: str) -> Reply:
        deps, principal = self._deps, asked.principal
        step = partial(linking.give, key=deps.key, tenant=principal.tenant, typed=normalise(typed), side=side)
        given = await deps.store.write(_once(lambda connection: step(connection, now=deps.clock())))
        if isinstance(given, LinkWhy):
            return Reply(self._refusal(given, principal), redact=True)
        said = HARNESS.text(
            principal.locale, "linking.is_that_you", who=_whom(given.stays, given.link.sender),
            role=HARNESS.text(principal.locale, f"people.role_{given.role}"),
        )  # fmt: skip
        buttons = self._buttons(given, given.joins, side.place, "link_agree")
        return Reply(said, redact=True, buttons=buttons)

    async def agree(self, link_id: str | None, principal: Principal) -> str:
        """Whoever gave the code says that it is them; the other side is asked."""
        deps = self._deps

        def job(connection: Connection) -> Linked | LinkWhy:
            done = linking.agree(connection, link_id, principal.user_id, deps.clock())
            if isinstance(done, Linked):
                stays, where = done.stays, done.link.place
                said = HARNESS.text(
                    stays.locale, "linking.asked", who=_whom(done.joins, done.link.other_sender),
                    role=HARNESS.text(stays.locale, f"people.role_{done.role}"),
                )  # fmt: skip
                buttons = self._buttons(done, stays, where, "link_join")
                deps.tell(connection, stays, where, f"link:{done.link.id}", said, buttons)
            return done

        done = await deps.store.write(_once(job), _after(deps.changed))
        if isinstance(done, LinkWhy):
            return self._refusal(done, principal)
        return HARNESS.text(principal.locale, "linking.agreed", who=_whom(done.stays, done.link.sender))

    async def connect(self, link_id: str | None, principal: Principal) -> str:
        """Whoever offered says so, too: both are one from now on."""
        deps = self._deps

        def job(connection: Connection) -> Linked | LinkWhy:
            done = linking.connect(connection, link_id, principal.user_id, deps.clock())
            if isinstance(done, Linked) and done.link.other_place is not None:
                said = _linked_text(done, done.stays.locale, done.link.sender)
                deps.tell(connection, done.stays, done.link.other_place, f"linked:{done.link.id}", said, ())
            return done

        done = await deps.store.write(_once(job), _after(deps.changed))
        if isinstance(done, LinkWhy):
            return self._refusal(done, principal)
        log.info("people_linked", user_id=done.stays.user_id, joined=done.joins.user_id, role=done.role)
        return _linked_text(done, principal.locale, done.link.other_sender)

    async def refuse(self, link_id: str | None, principal: Principal) -> str:
        """Either side wants nothing of it; the other one is not told more than that nothing came of it."""
        deps = self._deps
        step = partial(linking.refuse, link_id=link_id, user_id=principal.user_id)
        done = await deps.store.write(lambda connection: step(connection, now=deps.clock()))
        if isinstance(done, LinkWhy):
            return self._refusal(done, principal)
        return HARNESS.text(principal.locale, "linking.refused")

    async def unlink(self, asked: Invocation) -> Reply:
        """Undo a link: the only one, or the one of this number."""
        principal, deps = asked.principal, self._deps
        if not asked.direct:
            return Reply(HARNESS.text(principal.locale, "linking.only_direct"))
        held = await deps.store.read(partial(linking.list_held, user_id=principal.user_id))
        who = asked.arguments.strip().strip("`")
        if CANONICAL_SENDER.fullmatch(who) and asked.by_operator:
            return Reply(await self._undo_of(who, principal))
        by_id = who.lower() if len(who) > 3 else "no id ends like this"
        fitting = [link for link in held if not who or link.id.endswith(by_id) or who == link.other_sender]
        if len(fitting) != 1:
            lines = "\n".join(f"- `{link.id[-_NUMBER_CHARS:]}` {link.other_sender}" for link in held)
            key = "linking.which" if held else "linking.none"
            return Reply(f"{HARNESS.text(principal.locale, key)}\n\n{lines}".strip())
        return Reply(await self._undo(fitting[0].id, asked))

    async def _undo_of(self, who: str, principal: Principal) -> str:
        try:
            done = await self._unlink_of(who, principal.user_id)
        except OperationRefused as refused:
            return HARNESS.text(principal.locale, "access.nothing_changed", why=escape(refused.text(principal.locale)))
        return HARNESS.text(principal.locale, "linking.undone_for", who=whom(done))

    async def _undo(self, link_id: str, asked: Invocation) -> str:
        deps, principal = self._deps, asked.principal

        def job(connection: Connection) -> Linked | LinkWhy:
            done = linking.undo(connection, link_id, principal.user_id, deps.clock())
            for person, place in linking.places(done):
                if place != asked.address:  # there it is the answer
                    said = HARNESS.text(person.locale, "linking.undone")
                    deps.tell(connection, person, place, f"unlinked:{link_id}:{person.user_id[-8:]}", said, ())
            return done

        done = await deps.store.write(_once(job), _after(deps.changed))
        if isinstance(done, LinkWhy):
            return self._refusal(done, principal)
        log.info("people_unlinked", user_id=done.stays.user_id, parted=done.joins.user_id)
        return HARNESS.text(principal.locale, "linking.undone")

    async def _say_yes(self, principal: Principal) -> str:
        """The answer in words, to whichever question waits."""
        said = await self.agree(None, principal)
        nothing = self._refusal(LinkWhy.NOTHING, principal)
        return await self.connect(None, principal) if said == nothing else said

    def _buttons(self, both: Linked, reader: Person, where: Address, yes: str) -> tuple[Button, ...]:
        account, id_, until = f"{where.channel}:{where.account}", short_id(both.link.id), both.link.expires_at
        seal = partial(self._deps.seals.seal, subject=id_, user_id=reader.user_id, account=account, until=until)
        labels = ((yes, ButtonStyle.PRIMARY), ("link_no", ButtonStyle.SECONDARY))
        return tuple(
            Button(HARNESS.text(reader.locale, f"linking.button_{word}"), seal(word), style) for word, style in labels
        )

    def _refusal(self, why: LinkWhy, principal: Principal) -> str:
        return HARNESS.text(principal.locale, f"linking.why_{why.value}")


def _once(job: Callable[[Connection], Linked | LinkWhy]) -> Callable[[Connection], Linked | LinkWhy]:
    """The job as the writer may repeat it: a run after a commit whose outcome nobody heard finds its own work."""
    ran: list[Linked] = []

    def whole(connection: Connection) -> Linked | LinkWhy:
        done = job(connection)
        if isinstance(done, Linked):
            ran.append(done)
        elif ran:
            held = TICKETS.get(connection, id=ran[-1].link.id)
            return ran[-1] if held is not None and held.state is ran[-1].link.state else done
        return done

    return whole


def _after(changed: Changed) -> Callable[[Linked | LinkWhy], None]:
    """Tell the gateway of what is committed: a user who joined is known as whom they joined."""

    def after(done: Linked | LinkWhy) -> None:
        if isinstance(done, Linked):
            joined = done.joins.user_id in done.stays.aliases
            people = (done.stays,) if joined else (done.stays, done.joins)
            changed(people, [place for _, place in linking.places(done)], done.unparked)

    return after


def _whom(person: Person, sender: str | None) -> str:
    name = person.display_name.replace("`", "'")
    return f"`{name}` (`{sender}`)"


def _linked_text(done: Linked, locale: str | None, sender: str | None) -> str:
    role = HARNESS.text(locale, f"people.role_{done.role}")
    return HARNESS.text(locale, "linking.linked", sender=f"`{sender}`", role=role)
