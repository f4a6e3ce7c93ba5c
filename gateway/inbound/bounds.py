"""What comes in is bounded by who says it: a person, a newcomer, a stranger, a group. In memory; the clock is given.

The buckets are those of `gateway.access.limits`; what becomes of an event that is over a bound is decided in
`gateway.inbound.intake` and its admission.
"""

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
"""Groups of which the operator is told; then it is enough."""

CHATS_TOLD = 50_000
"""Chats of which is known when somebody in them was told of a bound; beyond that the oldest is told anew."""


class InboundBounds:
    """The bounds of one installation or tenant, and what operators are told of who is beyond them."""

    def __init__(self, access: AccessConfig, snapshot: AccessSnapshot, clock_s: Callable[[], float]) -> None:
        """`clock_s` is monotonic, in seconds."""
        self._access = access
        self._snapshot = snapshot
        self._clock_s = clock_s
        self._people = PersonLimits(access.limits, clock_s)
        self._strangers = StrangerBound(access.strangers, clock_s)
        self._flood = FloodWatch(clock_s)
        self._told_over_s: BoundedDict[str, float] = BoundedDict(CHATS_TOLD)  # by chat
        self._unlisted: set[str] = set()  # groups of which the operator was told

    def reconfigure(self, access: AccessConfig) -> None:
        """These bounds from the next event on; where one changes, what was counted begins anew."""
        if access.limits != self._access.limits:
            self._people = PersonLimits(access.limits, self._clock_s)
        if access.strangers != self._access.strangers:
            self._strangers = StrangerBound(access.strangers, self._clock_s)
        self._access = access

    def admits_stranger(self, event: InboundEvent, decision: policy.Decision) -> bool:
        """Count what is a stranger's; False where nothing is to be written down of it."""
        return self._strangers.charge(event, decision, self._person_of(event))

    def is_flood(self, event: InboundEvent) -> bool:
        """Count somebody who asks to be let in; whether so many do that it is a flood."""
        return self._flood.count_request(f"{event.address.channel}:{event.address.account}")

    def is_crowded(self, account: str) -> bool:
        """Strangers come in numbers; whether that is news."""
        return self._flood.is_crowded(account)

    def floods(self) -> Mapping[str, int]:
        """Accounts where strangers come in numbers, with their messages in the last minute."""
        return self._flood.floods()

    def charge(self, event: InboundMessage | CommandInvoked | ButtonPressed, counted: str, waiting: int) -> Over | None:
        """Count one event against this key; None when it may come in. `waiting` of theirs wait already."""
        over = self._people.charge(counted, waiting)
        if over is not None and (is_talk(event) or not self._may_tell(event.address.lane, over)):
            return replace(over, tell=False)  # nobody asked the bot anything, or the chat has just read it
        return over

    def give_back(self, plan: Plan) -> None:
        """What was counted was not written down after all: it will be offered again."""
        if plan.counted is not None and plan.over is None:
            self._people.give_back(plan.counted)
        self._strangers.give_back(plan.event, plan.decision, self._person_of(plan.event))

    def let_in(self, person: Person) -> None:
        """What somebody was counted for before they were a user goes on as theirs."""
        for sender in person.identities:
            self._people.rename(newcomer_key(person.tenant, sender), person.user_id)

    def key_of(self, event: InboundEvent, decision: policy.Decision) -> str | None:
        """Against whose bound an event counts: a person's, a newcomer's until they are one; None for nobody's.

        What is said to a group and not to the bot has a bound of its own, or it would use up what may be asked.
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
        """Tell the operator, once a group, what to write into the configuration where somebody asked for the bot."""
        group = f"{event.address.channel}:{event.address.chat}"
        asked = isinstance(event, CommandInvoked) or (isinstance(event, InboundMessage) and event.mentions_bot)
        if asked and group not in self._unlisted and len(self._unlisted) < UNLISTED_TOLD:
            self._unlisted.add(group)
            log.warning("group_not_allowed", group=group, account=event.address.account, mend="add it to allow_groups")

    def _may_tell(self, lane: str, over: Over) -> bool:
        """Whether a chat is told now that somebody in it is over a bound: once a minute, whoever it is."""
        now_s, told_s = self._clock_s(), self._told_over_s.get(lane)
        if not over.tell or (told_s is not None and now_s - told_s < self._access.limits.notice_every_s):
            return False
        self._told_over_s[lane] = now_s
        return True

    def _person_of(self, event: InboundEvent) -> Person | None:
        return self._snapshot.find(event.tenant, event.sender_key)


def newcomer_key(tenant: str, sender_key: str) -> str:
    """Under what somebody's bound is kept before they are a user."""
    return f"new:{tenant}:{sender_key}"
