"""Words what access says to people and to operators, from the harness's own texts. When it is said is not known here.

No agent's texts go before these: `tenk pairing approve` says them without any agent.
"""

from math import ceil

from agent.catalogue import escape
from gateway.access.codes import BULLETS
from gateway.access.pairing import Approved
from gateway.command_line import PLAIN, CommandLine
from gateway.safety.names import Lookalikes
from gateway.store.people import Person
from gateway.store.tickets import Ticket
from gateway.texts import HARNESS


def code_text(
    locale: str | None, *, tenk: str = "tenk", gave_way: bool = False, invited: bool = False, nameless: bool = False
) -> str:
    """Markdown for a stranger, bullets where the code goes.

    `tenk` is the command as the operator types it; `gave_way` an earlier request of theirs, `invited` in vain;
    `nameless`: nobody there has a name, so that they may give one.
    """
    code = HARNESS.text(locale, "access.code", code=BULLETS, command=f"{tenk} pairing approve {BULLETS}")
    before = [(invited, "access.invitation_void"), (gave_way, "access.gave_way")]
    behind = [HARNESS.text(locale, "access.say_name")] if nameless else []
    return "\n\n".join([*(HARNESS.text(locale, key) for wanted, key in before if wanted), code, *behind])


def named_text(locale: str | None, name: str) -> str:
    """What a stranger reads who gave a name."""
    return HARNESS.text(locale, "access.named", name=name.replace("`", "'"))


def full_text(locale: str | None) -> str:
    """What a stranger reads whose request gave way and who cannot have another place now."""
    return HARNESS.text(locale, "access.full")


def welcome_text(approved: Approved) -> str:
    """Markdown for whoever was let in just now."""
    return HARNESS.text(approved.person.locale, "access.owner" if approved.became_owner else "access.member")


def too_fast_text(locale: str | None, retry_after_s: float) -> str:
    """What somebody over their rate is told."""
    return HARNESS.text(locale, "access.too_fast", seconds=max(1, ceil(retry_after_s)))


def too_many_text(locale: str | None, waiting: int) -> str:
    """What somebody with too much waiting is told."""
    return HARNESS.plural(locale, "access.too_many", waiting)


def asked_text(asked: Ticket, names: Lookalikes, locale: str | None, tenk: CommandLine = PLAIN) -> str:
    """What an owner reads when somebody asks to be let in. The name is a stranger's own word, so it is quoted."""
    name = names.introduce(asked.display_name, locale=locale).replace("`", "'")
    return HARNESS.text(locale, "access.asked", name=name, sender=asked.sender, command=approve_command(asked, tenk))


def verdict_text(asked: Ticket, verdict: str, by: str, names: Lookalikes, locale: str | None) -> str:
    """What stands in a request's place once it is decided; `verdict` is approved, denied or blocked."""
    name = names.introduce(asked.display_name, locale=locale).replace("`", "'")
    return HARNESS.text(locale, f"access.verdict_{verdict}", name=name, sender=asked.sender, by=by)


def decider_text(decider: Person | None, reader: Person, names: Lookalikes) -> str:
    """Who decided, as somebody reads it: themselves, another by name, or whoever works at the machine."""
    if decider is None:
        return HARNESS.text(reader.locale, "access.by_machine")
    if decider.user_id == reader.user_id:
        return HARNESS.text(reader.locale, "access.by_you")
    return escape(names.introduce(decider.display_name, decider.user_id, locale=reader.locale))


def approve_command(asked: Ticket, tenk: CommandLine) -> str:
    """What lets this person in, typed at the machine; no code is in it."""
    return tenk.command("pairing", "approve", "--request", asked.id[-8:])


def crowd_text(account: str, locale: str | None, tenk: CommandLine = PLAIN) -> str:
    """What owners read, once an hour at most, when strangers come in numbers."""
    listing, invite = tenk.command("pairing", "list"), tenk.command("invite")
    return HARNESS.text(locale, "access.crowd", account=account, listing=listing, invite=invite)


def zone_text(locale: str | None, zone: str) -> str:
    """The zone that a person's device tells is theirs from now on."""
    return HARNESS.text(locale, "commands.timezone_guessed", timezone=escape(zone))


def not_here_text(locale: str | None) -> str:
    """What somebody reads whose command has to be answered and who is not let in."""
    return HARNESS.text(locale, "access.not_here")
