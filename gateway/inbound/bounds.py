"""Rate limits on inbound events, by person, newcomer, stranger and group, in memory."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog

from channels.bounded_dict import BoundedDict
from channels.messages import ButtonPressed, CommandInvoked, InboundEvent, InboundMessage
from gateway.access import policy
from gateway.access.config import AccessConfig
from gateway.access.limits import FloodWatch, Over, PersonLimits, StrangerBound
from gateway.access.policy import AccessSnapshot, Admit
from gateway.inbound.admission import Plan
from gateway.inbound.reception import is_talk
from gateway.store.people import Person

log = structlog.get_logger()

UNLISTED_TOLD = 1_000
"""Maximum of unlisted groups that are logged."""

CHATS_TOLD = 50_000
"""Chats whose last notice is remembered; beyond that the oldest may be noticed again."""


class InboundBounds:
    """Inbound limits of one tenant, and the notices about them."""

    def __init__(self, access: AccessConfig, snapshot: AccessSnapshot, clock_s: Callable[[], float]) -> None:
        self._access = access
        self._snapshot = snapshot
        self._clock_s = clock_s
        self._people = PersonLimits(access.limits, clock_s)
        self._strangers = StrangerBound(access.strangers, clock_s)
        self._flood = FloodWatch(clock_s)
        self._told_over_s: BoundedDict[str, float] = BoundedDict(CHATS_TOLD)  # by chat: time of the last notice
        self._unlisted: set[str] = set()  # groups that were logged

    def reconfigure(self, access: AccessConfig) -> None:
        """Apply new limits from the next event on; a changed limit starts with fresh counts."""
        if access.limits != self._access.limits:
            self._people = PersonLimits(access.limits, self._clock_s)
        if access.strangers != self._access.strangers:
            self._strangers = StrangerBound(access.strangers, self._clock_s)
        self._access = access

    def admits_stranger(self, event: InboundEvent, decision: policy.Decision) -> bool:
        """Count a stranger's event; return False if no row may be written for it."""
        return self._strangers.charge(event, decision, self._person_of(event))

    def is_flood(self, event: InboundEvent) -> bool:
        """Count a request to be let in; return True if there is a flood of them."""
        return self._flood.count_request(f"{event.address.channel}:{event.address.account}")

    def is_crowded(self, account: str) -> bool:
        """Record a flood; return True if it is a new one."""
        return self._flood.is_crowded(account)

    def floods(self) -> Mapping[str, int]:
        """Return the accounts with a flood, and their messages in the last minute."""
        return self._flood.floods()

    def charge(self, event: InboundMessage | CommandInvoked | ButtonPressed, counted: str, waiting: int) -> Over | None:
        """Count one event for this key; return the limit it exceeds, or None. `waiting` messages are queued already."""
        over = self._people.charge(counted, waiting)
        if over is not None and (is_talk(event) or not self._may_tell(event.address.lane, over)):
            return replace(over, tell=False)  # talk is not answered, and the chat has just been told
        return over

    def give_back(self, plan: Plan) -> None:
        """Refund an event that was not stored; the channel offers it again."""
        if plan.counted is not None and plan.over is None:
            self._people.give_back(plan.counted)
        self._strangers.give_back(plan.event, plan.decision, self._person_of(plan.event))

    def let_in(self, person: Person) -> None:
        """Move the counts of a newcomer to the new user."""
        for sender in person.identities:
            self._people.rename(newcomer_key(person.tenant, sender), person.user_id)

    def key_of(self, event: InboundEvent, decision: policy.Decision) -> str | None:
        """Return the key that an event is counted for: the user, or the newcomer; None if it is not counted.

        Talk between people of a group is counted apart, so that it does not use up their requests.
        """
        known = self._snapshot.find(event.tenant, event.sender_key)
        if isinstance(decision, Admit | policy.AskGroup):
            counted = decision.person.user_id
        elif isinstance(decision, policy.Enrol):
            counted = newcomer_key(event.tenant, event.sender_key) if known is None else known.user_id
        else:
            return None
        return f"talk:{counted}" if is_talk(event) else counted

    def note_unlisted(self, event: InboundEvent) -> None:
        """Log once per group how to allow it, if the bot was addressed there."""
        group = f"{event.address.channel}:{event.address.chat}"
        asked = isinstance(event, CommandInvoked) or (isinstance(event, InboundMessage) and event.mentions_bot)
        if asked and group not in self._unlisted and len(self._unlisted) < UNLISTED_TOLD:
            self._unlisted.add(group)
            log.warning("group_not_allowed", group=group, account=event.address.account, mend="add it to allow_groups")

    def _may_tell(self, lane: str, over: Over) -> bool:
        """Return True if the chat may be told of the limit now: once per interval, for all senders."""
        now_s, told_s = self._clock_s(), self._told_over_s.get(lane)
        if not over.tell or (told_s is not None and now_s - told_s < self._access.limits.notice_every_s):
            return False
        self._told_over_s[lane] = now_s
        return True

    def _person_of(self, event: InboundEvent) -> Person | None:
        return self._snapshot.find(event.tenant, event.sender_key)


def newcomer_key(tenant: str, sender_key: str) -> str:
    """Return the key of a sender's limits before they are a user."""
    return f"new:{tenant}:{sender_key}"
