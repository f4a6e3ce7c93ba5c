"""Requests, people and invitations as operators see them: names spelled out, likeliest first, never a code. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue

from agent.language import language_of
from gateway.access.ranks import rank_of
from gateway.access.roles import Role
from gateway.safety.names import KnownName, Lookalikes
from gateway.store.invites import Invite
from gateway.store.pairing import PairingRequest
from gateway.store.people import Person


def lookalikes(people: Iterable[Person]) -> Lookalikes:
    """Whom it pays to look like: owners first, then operators."""
    inside = [person for person in people if Role(person.role).allows(Role.OPERATOR)]
    inside.sort(key=lambda person: -rank_of(person.role))
    return Lookalikes(KnownName(person.display_name, person.role, person.user_id) for person in inside)


def requests_shown(pending: Iterable[PairingRequest], people: Sequence[Person], now: datetime) -> list[JsonValue]:
    """Who waits: whoever shares a workspace or a language with people let in comes first, then whoever came first."""
    names = lookalikes(people)
    inside = [person for person in people if person.role != Role.BLOCKED]
    teams = {team for person in inside for sender in person.identities if (team := _team(sender))}
    languages = {language_of(person.locale) for person in inside if person.locale}

    def unlikely(asked: PairingRequest) -> tuple[bool, bool, datetime]:
        speaks = asked.locale is not None and language_of(asked.locale) in languages
        return _team(asked.sender) not in teams, not speaks, asked.created_at

    return [_request_shown(asked, names, now) for asked in sorted(pending, key=unlikely) if now < asked.expires_at]


def _team(sender: str) -> str:
    """The workspace of a sender; "" where the platform has none."""
    channel, _, identity = sender.partition(":")
    team, _, _ = identity.rpartition(":")
    return f"{channel}:{team}" if team else ""


def _request_shown(asked: PairingRequest, names: Lookalikes, now: datetime) -> JsonValue:
    return {
        "request": asked.id,
        "sender": asked.sender,
        "name": names.introduce(asked.display_name),
        "account": f"{asked.channel}:{asked.account}",
        "asked_at": asked.created_at.isoformat(),
        "age_s": max(0, int((now - asked.created_at) / timedelta(seconds=1))),
        "expires_at": asked.expires_at.isoformat(),
    }


def person_shown(person: Person, names: Lookalikes) -> dict[str, JsonValue]:
    """One person, with what to know of their name."""
    return {
        "user": person.user_id,
        "tenant": person.tenant,
        "name": names.introduce(person.display_name, person.user_id),
        "role": person.role,
        "senders": list[JsonValue](sorted(person.identities)),
        "accounts": list[JsonValue](sorted(person.grants | person.policy_grants)),
        "timezone": person.timezone,
    }


def search_words(person: Person) -> str:
    """All by which one person is looked for."""
    told = (person.display_name, person.role, person.user_id, *person.identities, *person.grants, *person.policy_grants)
    return "\n".join(told).casefold()


def invite_shown(invite: Invite, now: datetime) -> dict[str, JsonValue]:
    """One invitation and what became of it."""
    return {
        "invite": invite.id,
        "role": invite.role,
        "state": _state(invite, now),
        "made_at": invite.created_at.isoformat(),
        "made_by": invite.created_by,
        "expires_at": invite.expires_at.isoformat(),
        "used_by": invite.used_by,
    }


def _state(invite: Invite, now: datetime) -> str:
    if invite.used_at is not None:
        return "used"
    if invite.revoked_at is not None and invite.revoked_at < invite.expires_at:
        return "revoked"
    return "waits" if now < invite.expires_at and invite.revoked_at is None else "expired"
