"""`/link` and `/unlink`: a person on several channels becomes one user, confirmed on both sides, and two again.

Each step is one commit that holds its changes and the messages to both sides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from channels.base import CommandOption
from channels.messages import Address, Button, ButtonStyle
from gateway.access import linking
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.access.codes import BULLETS, normalise, secret_ref
from gateway.access.linking import Linked, LinkWhy, Side
from gateway.commands.base import Changed, Command, Handle, HelpGroup, Invocation, Reply, Write
from gateway.commands.decisions import VOID, whom
from gateway.operators.people import CANONICAL_SENDER
from gateway.operators.service import Operators
from gateway.store.causes import Notice
from gateway.store.engine import Connection
from gateway.store.people import Person
from gateway.texts import HARNESS

YES, NO = frozenset({"yes", "sí", "si", "ok"}), frozenset({"no", "cancel", "cancelar"})

Tell = Callable[[Connection, Person, Address, Notice, str, Sequence[Button]], None]
"""Function that puts a message to a person into the outbox: connection, person, address, cause, Markdown, buttons."""

_NUMBER_CHARS = 6


@dataclass(frozen=True, slots=True)
class LinkDeps:
    """Dependencies of the linking commands."""

    key: bytes
    seals: SealedButtons
    tell: Tell
    changed: Callable[[Sequence[Person], Sequence[str]], None]
    """Called after the commit with changed people, and turns whose approvals were withdrawn."""


def link_commands(deps: LinkDeps, operators: Operators) -> tuple[Command, ...]:
    """Return the commands; everyone links themselves, operators may undo the links of others."""
    steps = _LinkSteps(deps)
    code, number = CommandOption("code", "menu.link.code"), CommandOption("number", "menu.unlink.number")
    return (
        Command("link", "menu.link", steps.link, options=(code,), group=HelpGroup.ACCOUNT),
        Command("unlink", "menu.unlink", partial(steps.unlink, operators), options=(number,), group=HelpGroup.ACCOUNT),
    )


def link_decisions(deps: LinkDeps) -> Mapping[str, Handle]:
    """Return the buttons under the two questions of a link, by word."""
    steps = _LinkSteps(deps)
    jobs = {"link_agree": steps.agree, "link_join": steps.connect, "link_no": steps.refuse}

    async def press(asked: Invocation) -> Reply | Write:
        link_id = long_id(asked.arguments)
        return Write(jobs[asked.name], asked, link_id) if link_id else Reply(asked.say(VOID))

    return dict.fromkeys(jobs, press)


class _LinkSteps:
    """Steps of a link: changes, and messages to both sides."""

    def __init__(self, deps: LinkDeps) -> None:
        self._deps = deps

    async def link(self, asked: Invocation) -> Reply | Write:
        """Offer a code, take one, or answer the pending question."""
        given = " ".join(asked.arguments.split())
        if not asked.direct:
            return Reply(asked.say("linking.only_direct"))
        if given.lower() in NO:
            return Write(self.refuse, asked, None)
        if given.lower() in YES:
            return Write(self._agree_or_connect, asked)
        side = Side(asked.principal.user_id, asked.sender, asked.address)
        return Write(self._give, asked, side, given) if given else Write(self._offer, asked, side)

    def _offer(self, connection: Connection, asked: Invocation, side: Side) -> Reply:
        """Offer a new code."""
        offered = linking.offer(connection, asked.principal.tenant, side, asked.clock())
        held = linking.list_held(connection, asked.principal.user_id)
        minutes = int(linking.VALID.total_seconds() // 60)
        text = asked.say("linking.offered", code=BULLETS, minutes=minutes)
        if held:
            listed = ", ".join(f"`{link.other_sender or ''}`" for link in held)
            text += "\n\n" + asked.say("linking.held", senders=listed)
        return Reply(text, secret_ref=secret_ref(offered.id))

    def _give(self, connection: Connection, asked: Invocation, side: Side, typed: str) -> Reply:
        """Take the other side's code, and ask for confirmation."""
        tenant, key = asked.principal.tenant, self._deps.key
        given = linking.give(connection, key, tenant, normalise(typed), side, asked.clock())
        if isinstance(given, LinkWhy):
            return Reply(_refusal(asked, given), redact=True)
        role = asked.say(f"people.role_{given.role}")
        said = asked.say("linking.is_that_you", who=_whom(given.stays, given.link.sender), role=role)
        return Reply(said, redact=True, buttons=self._buttons(given, given.joins, side.place, "link_agree"))

    def agree(self, connection: Connection, asked: Invocation, link_id: str | None) -> Reply:
        """Confirm on the side that entered the code, and ask the other side."""
        done = linking.agree(connection, link_id, asked.principal.user_id, asked.clock())
        if isinstance(done, LinkWhy):
            return Reply(_refusal(asked, done))
        stays, where = done.stays, done.link.place
        role = HARNESS.text(stays.locale, f"people.role_{done.role}")
        said = HARNESS.text(stays.locale, "linking.asked", who=_whom(done.joins, done.link.other_sender), role=role)
        buttons = self._buttons(done, stays, where, "link_join")
        self._deps.tell(connection, stays, where, Notice("link", done.link.id), said, buttons)
        agreed = asked.say("linking.agreed", who=_whom(done.stays, done.link.sender))
        return Reply(agreed, changed=self._follow_up(done))

    def connect(self, connection: Connection, asked: Invocation, link_id: str | None) -> Reply:
        """Confirm on the side that offered the code; both are one user from this commit on."""
        done = linking.connect(connection, link_id, asked.principal.user_id, asked.clock())
        if isinstance(done, LinkWhy):
            return Reply(_refusal(asked, done))
        if done.link.other_place is not None:
            said = _linked_text(done, done.stays.locale, done.link.sender)
            self._deps.tell(connection, done.stays, done.link.other_place, Notice("linked", done.link.id), said, ())
        linked = _linked_text(done, asked.principal.locale, done.link.other_sender)
        return Reply(linked, changed=self._follow_up(done))

    def refuse(self, connection: Connection, asked: Invocation, link_id: str | None) -> Reply:
        """Decline a pending link."""
        done = linking.refuse(connection, link_id, asked.principal.user_id, asked.clock())
        return Reply(_refusal(asked, done) if isinstance(done, LinkWhy) else asked.say("linking.refused"))

    def _agree_or_connect(self, connection: Connection, asked: Invocation) -> Reply:
        """Answer the pending question with yes, on either side."""
        reply = self.agree(connection, asked, None)
        return self.connect(connection, asked, None) if reply.text == _refusal(asked, LinkWhy.NOTHING) else reply

    async def unlink(self, operators: Operators, asked: Invocation) -> Reply | Write:
        """Undo a link: the only one, or the one with this number."""
        if not asked.direct:
            return Reply(asked.say("linking.only_direct"))
        held = await asked.store.read(partial(linking.list_held, user_id=asked.principal.user_id))
        who = asked.arguments.strip().strip("`")
        if CANONICAL_SENDER.fullmatch(who) and asked.by_operator:
            return Reply(await _undo_of(operators, who, asked))
        by_id = who.lower() if len(who) > 3 else "no id ends like this"
        fitting = [link for link in held if not who or link.id.endswith(by_id) or who == link.other_sender]
        if len(fitting) != 1:
            lines = "\n".join(f"- `{link.id[-_NUMBER_CHARS:]}` {link.other_sender}" for link in held)
            return Reply(f"{asked.say('linking.which' if held else 'linking.none')}\n\n{lines}".strip())
        return Write(self._undo, asked, fitting[0].id)

    def _undo(self, connection: Connection, asked: Invocation, link_id: str) -> Reply:
        """Undo a link and tell the other side."""
        done = linking.undo(connection, link_id, asked.principal.user_id, asked.clock())
        if isinstance(done, LinkWhy):
            return Reply(_refusal(asked, done))
        for person, place in linking.places(done):
            if place != asked.address:  # the reply tells this side
                cause = Notice("unlinked", f"{link_id}:{person.user_id[-8:]}")
                said = HARNESS.text(person.locale, "linking.undone")
                self._deps.tell(connection, person, place, cause, said, ())
        return Reply(asked.say("linking.undone"), changed=self._follow_up(done))

    def _follow_up(self, done: Linked) -> Changed:
        """Return what to update after the commit."""
        joined = done.joins.user_id in done.stays.aliases
        people = (done.stays,) if joined else (done.stays, done.joins)
        return Changed(after=partial(self._deps.changed, people, done.unparked))

    def _buttons(self, both: Linked, reader: Person, where: Address, yes: str) -> tuple[Button, ...]:
        account, id_, until = f"{where.channel}:{where.account}", short_id(both.link.id), both.link.expires_at
        seal = partial(self._deps.seals.seal, subject=id_, user_id=reader.user_id, account=account, until=until)
        labels = ((yes, ButtonStyle.PRIMARY), ("link_no", ButtonStyle.SECONDARY))
        return tuple(
            Button(HARNESS.text(reader.locale, f"linking.button_{word}"), seal(word), style) for word, style in labels
        )


async def _undo_of(operators: Operators, who: str, asked: Invocation) -> str:
    done = await operators.unlink(asked.principal.user_id, who)
    return asked.say("linking.undone_for", who=whom(done))


def _refusal(asked: Invocation, why: LinkWhy) -> str:
    return asked.say(f"linking.why_{why.value}")


def _whom(person: Person, sender: str | None) -> str:
    name = person.display_name.replace("`", "'")
    return f"`{name}` (`{sender}`)"


def _linked_text(done: Linked, locale: str | None, sender: str | None) -> str:
    role = HARNESS.text(locale, f"people.role_{done.role}")
    return HARNESS.text(locale, "linking.linked", sender=f"`{sender}`", role=role)
