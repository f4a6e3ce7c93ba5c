"""Texts about access, for people and operators, from the harness's own catalogue, which needs no agent."""

from math import ceil

from agent.catalogue import escape
from gateway.access.codes import BULLETS
from gateway.access.pairing import Approved
from gateway.command_line import PLAIN, CommandLine, of_process
from gateway.safety.names import Lookalikes
from gateway.store.people import Person
from gateway.store.tickets import Ticket
from gateway.texts import HARNESS


def code_text(
    locale: str | None, *, tenk: str = "tenk", gave_way: bool = False, invited: bool = False, no_names: bool = False
) -> str:
    """Return Markdown for a stranger, with bullets in place of the code.

    `tenk` is the command as the operator types it. `gave_way`: their earlier request was displaced. `invited`: their
    invitation is void. `no_names`: the platform gives no name, so invite them to say one.
    """
    code = HARNESS.text(locale, "access.code", code=BULLETS, command=f"{tenk} pairing approve {BULLETS}")
    before = [(invited, "access.invitation_void"), (gave_way, "access.gave_way")]
    behind = [HARNESS.text(locale, "access.say_name")] if no_names else []
    return "\n\n".join([*(HARNESS.text(locale, key) for wanted, key in before if wanted), code, *behind])


def named_text(locale: str | None, name: str) -> str:
    """Return the confirmation for a stranger who gave a name."""
    return HARNESS.text(locale, "access.named", name=name.replace("`", "'"))


def full_text(locale: str | None) -> str:
    """Return the answer to a stranger whose request was displaced and who cannot have another place now."""
    return HARNESS.text(locale, "access.full")


def welcome_text(approved: Approved) -> str:
    """Return the welcome for a person who was just let in."""
    if not approved.became_owner:
        return HARNESS.text(approved.person.locale, "access.member")
    return HARNESS.text(approved.person.locale, "access.owner", command=of_process().command("init"))


def too_fast_text(locale: str | None, retry_after_s: float) -> str:
    """Return the notice to a person over their rate."""
    return HARNESS.text(locale, "access.too_fast", seconds=max(1, ceil(retry_after_s)))


def too_many_text(locale: str | None, waiting: int) -> str:
    """Return the notice to a person with too many waiting messages."""
    return HARNESS.plural(locale, "access.too_many", waiting)


def asked_text(asked: Ticket, names: Lookalikes, locale: str | None, tenk: CommandLine = PLAIN) -> str:
    """Return the request as owners read it. The name is a stranger's text, so it is quoted."""
    name = names.introduce(asked.display_name, locale=locale).replace("`", "'")
    return HARNESS.text(locale, "access.asked", name=name, sender=asked.sender, command=approve_command(asked, tenk))


def verdict_text(asked: Ticket, verdict: str, by: str, names: Lookalikes, locale: str | None) -> str:
    """Return the text that replaces a decided request; `verdict` is approved, denied or blocked."""
    name = names.introduce(asked.display_name, locale=locale).replace("`", "'")
    return HARNESS.text(locale, f"access.verdict_{verdict}", name=name, sender=asked.sender, by=by)


def decider_text(decider: Person | None, reader: Person, names: Lookalikes) -> str:
    """Return the decider as the reader sees them: "you", a name, or the operator at the machine."""
    if decider is None:
        return HARNESS.text(reader.locale, "access.by_machine")
    if decider.user_id == reader.user_id:
        return HARNESS.text(reader.locale, "access.by_you")
    return escape(names.introduce(decider.display_name, decider.user_id, locale=reader.locale))


def approve_command(asked: Ticket, tenk: CommandLine) -> str:
    """Return the command that approves this request at the machine, without the code."""
    return tenk.command("pairing", "approve", "--request", asked.id[-8:])


def crowd_text(account: str, locale: str | None, tenk: CommandLine = PLAIN) -> str:
    """Return the notice to owners that many strangers ask, sent at most once an hour."""
    listing, invite = tenk.command("pairing", "list"), tenk.command("invite")
    return HARNESS.text(locale, "access.crowd", account=account, listing=listing, invite=invite)


def zone_text(locale: str | None, zone: str) -> str:
    """Return the notice that a time zone was taken from the person's device."""
    return HARNESS.text(locale, "commands.timezone_guessed", timezone=escape(zone))


def not_here_text(locale: str | None) -> str:
    """Return the answer to a command whose sender is not let in."""
    return HARNESS.text(locale, "access.not_here")
