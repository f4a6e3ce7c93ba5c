"""Hard caps on the cost of models. Owners are told when a cap is nearly used.

`gateway.store.budgets` holds the rows, `agent.budgets` says how much a call may cost. Without a cap nothing here is on
a call's way.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import partial

import structlog

from agent.budgets import Budget, Hold, OverBudget, Spending
from agent.calendar import local_date, zone_of
from agent.catalogue import escape
from agent.config import LinkConfig
from agent.errors import FailureKind
from agent.models.budgeted import BudgetedModel
from agent.models.select import Charge
from agent.ports import ChatModel, ModelFailure, Principal
from agent.prices import TokenPrices
from agent.transcript import EndReason
from channels.messages import DEFAULT_TENANT
from gateway.commands.usage import MICROUSD_PER_CENT, in_digits, usd_text
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.owner_notices import OwnerNotices
from gateway.safety.redaction import escape_controls
from gateway.sessions.config import BudgetsConfig
from gateway.store import budgets, outbox, people, usage
from gateway.store.budgets import Cap, CapReached, CapUse
from gateway.store.causes import Notice
from gateway.store.engine import Connection, Store
from gateway.store.journal import TurnRow
from gateway.store.outbox import OutboxPart
from gateway.store.people import Person
from gateway.store.tables.base import new_id
from gateway.store.usage import UsageSum
from gateway.texts import HARNESS

log = structlog.get_logger()

SCOPES = ("turn", "user", "channel", "tenant", "day")
OF_ALL = ("channel", "tenant", "day")
"""Scopes of the caps that many people share."""

A_DAY = timedelta(days=1)
LONGEST_DAY = timedelta(hours=25)
NEARLY_PERCENT = 80
LOOK_S = 1.0
WAIT_S = 30.0
"""For what calls under way have set aside and may not use: shorter than a model's first word may take."""

FULL_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Spender:
    """For whom and where models are asked."""

    tenant: str
    user_id: str
    account: str  # telegram:main
    turn_id: str
    timezone: str  # IANA name; the person's day


_SPENDER: ContextVar[Spender | None] = ContextVar("spender", default=None)


def note_spender(turn: TurnRow, principal: Principal) -> None:
    """From here on, in this task and those it makes, models are asked for this turn: its steps, notes and judges."""
    account = f"{turn.address.channel}:{turn.address.account}"
    _SPENDER.set(Spender(turn.tenant, turn.user_id, account, turn.id, principal.timezone))


def caps_of(config: BudgetsConfig, spender: Spender, now: datetime) -> list[Cap]:
    """Return the caps that a call at this moment falls under. A person's day is their own, any other is UTC's. Pure."""
    own = local_date(now, spender.timezone)
    whole = now.astimezone(UTC).date()
    whose: dict[str, tuple[str, str, date, tzinfo]] = {
        "user": (spender.tenant, spender.user_id, own, zone_of(spender.timezone)),
        "channel": (spender.tenant, spender.account, whole, UTC),
        "tenant": (spender.tenant, "", whole, UTC),
        "day": ("", "", whole, UTC),
    }
    found = []
    for scope in SCOPES:
        most = config.caps_of(scope)
        if most == (None, None):
            continue
        if scope == "turn":
            found.append(Cap(spender.tenant, scope, spender.turn_id, "", *most, None))
            continue
        tenant, key, day, zone = whose[scope]
        resets_at = datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)
        found.append(Cap(tenant, scope, key, day.isoformat(), *most, resets_at))
    return found


class Budgets:
    """The caps of one gateway; a `Budget` of its models."""

    def __init__(
        self,
        config: BudgetsConfig,
        store: Store,
        dates: Callable[[], datetime],
        news: asyncio.Event | None = None,
    ) -> None:
        """`dates` is the wall clock: caps reset daily. `news` is the event that the budgets of all tenants share."""
        self._config = config
        self._store = store
        self.now = dates
        self.wait_s = WAIT_S
        self.news = news or asyncio.Event()
        self.news.set()
        """Set when calls were settled since the last look."""
        self._set_aside: dict[tuple[str, str, str, str], Spending] = {}  # by cap: for calls of this process
        self._settled = asyncio.Event()  # the next call is

    def charge_by(self, config: BudgetsConfig, lost_prices: Mapping[str, Decimal]) -> Charge:
        """Return what puts these caps around a model: its calls reserve what they may cost, if anything is capped.

        `lost_prices` are in USD per million tokens, by model: the last known price of a model that has none now.
        """

        def charge(model: ChatModel, link: LinkConfig) -> ChatModel:
            if not config.has_any:
                return model
            return _charged_model(model, link, self, lost_prices)

        return charge

    def reconfigure(self, config: BudgetsConfig) -> None:
        """Cap calls so from the next one on; a model made while nothing was capped has to be made anew."""
        self._config = config

    async def reserve(self, most: Spending, least: Spending | None = None) -> Hold:
        """Set aside `most`, or what is left of it, in each cap that the turn at work falls under, or in none.

        Where a cap is reached only by what calls of this process have set aside, they are waited for.

        Raises:
            OverBudget: one of them has no room for `least` (None: `most`).
            ModelFailure: calls under way hold what is left, and take long.
        """
        spender, now, id_ = _SPENDER.get(), self.now(), new_id()
        caps = [] if spender is None else await self._running(spender, now)
        if not caps:
            return _NoHold(most)
        hold = _StoredHold(self._store, id_, caps, partial(self._note_settled, caps))
        try:
            async with asyncio.timeout(self.wait_s):
                hold.granted = await self._reserve(id_, caps, most, least or most, now)
        except (asyncio.CancelledError, TimeoutError) as ended:
            hold.settle(Spending())  # it is behind the reservation, which nobody takes back
            if isinstance(ended, TimeoutError):
                words = "calls under way hold what is left of a cap"
                raise ModelFailure(FailureKind.RATE_LIMIT, words, retry_after_s=2 * WAIT_S + 1, unasked=True) from None
            raise
        return hold

    async def _running(self, spender: Spender, now: datetime) -> list[Cap]:
        """Return the caps of a call, a person's own as it runs since before they changed their zone."""
        caps = caps_of(self._config, spender, now)
        if not any(cap.scope == "user" for cap in caps):
            return caps
        return await self._store.read(partial(budgets.running, caps=caps, now=now), lasting=True)

    async def _reserve(self, id_: str, caps: Sequence[Cap], most: Spending, least: Spending, now: datetime) -> Spending:
        """Try anew each time that a call was settled, as long as that may help; return what is set aside."""
        while True:
            settled = self._settled
            try:
                granted = await self._store.commit(budgets.reserve, id_, caps, most, now, least)
                self._count(caps, granted)
                return granted
            except CapReached as reached:
                cap, limit = reached.cap, reached.limit
            used = CapUse(cap, await self._store.read(partial(budgets.used_of, cap=cap), lasting=True))
            if settled.is_set() or cap.refuses(used.used, least) is None:
                continue
            if cap.refuses(self.without_calls(used).used, least) or cap.identity not in self._set_aside:
                log.warning("budget_reached", scope=cap.scope, key=cap.key, limit=limit)
                await self._store.commit(budgets.mark_reached, cap, now)
                reason = EndReason.MAX_COST if limit == "usd" else EndReason.MAX_TOKENS
                raise OverBudget(reason, cap.scope, cap.resets_at)
            await settled.wait()

    def without_calls(self, use: CapUse) -> CapUse:
        """Return the use of a cap without the amounts set aside for calls of this process."""
        held = self._set_aside.get(use.cap.identity, Spending())
        return CapUse(use.cap, Spending(use.used.tokens - held.tokens, use.used.microusd - held.microusd))

    def _count(self, caps: Sequence[Cap], more: Spending) -> None:
        for cap in caps:
            before = self._set_aside.pop(cap.identity, Spending())
            held = Spending(before.tokens + more.tokens, before.microusd + more.microusd)
            if held != Spending():
                self._set_aside[cap.identity] = held

    def _note_settled(self, caps: Sequence[Cap], granted: Spending) -> None:
        self._count(caps, Spending(-granted.tokens, -granted.microusd))
        self._settled.set()
        self._settled = asyncio.Event()
        self.news.set()

    async def begin(self) -> None:
        """Count calls in full that an earlier process left under way, of every tenant."""
        if lost := await self._store.commit(budgets.forget_holds):
            log.info("budget_holds_kept", calls=lost)

    async def take_up(self, tenant: str, zone_of_user: Callable[[str], str]) -> None:
        """Count to a tenant's caps of today what was used before they were set, and forget caps that are gone."""
        await self._store.commit(self._take_up, tenant, zone_of_user, self.now())
        self.news.set()

    def _take_up(self, connection: Connection, tenant: str, zone_of_user: Callable[[str], str], now: datetime) -> None:
        gone = [scope for scope in SCOPES[1:] if self._config.caps_of(scope) == (None, None)]
        budgets.let_go(connection, tenant, [scope for scope in gone if scope != "day"], now)
        if tenant == DEFAULT_TENANT and "day" in gone:
            budgets.let_go(connection, "", ["day"], now)
        if len(gone) == len(SCOPES) - 1:
            return
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        accounts = usage.usage_by_account(connection, tenant, today)
        spenders = [Spender(tenant, "", account, "", "UTC") for account in ("", *accounts)]
        users = usage.users_since(connection, tenant, now - LONGEST_DAY)
        spenders += [Spender(tenant, user_id, "", "", zone_of_user(user_id)) for user_id in users]
        found = [cap for spender in spenders for cap in caps_of(self._config, spender, now)]
        caps = {cap.identity: cap for cap in found if cap.key or cap.scope in {"tenant", "day"}}
        running = budgets.running(connection, list(caps.values()), now)
        budgets.take_up(connection, [CapUse(cap, _spending_before(connection, cap, accounts)) for cap in running], now)

    async def used_up(self, tenant: str | None = None) -> list[CapUse]:
        """Return the shared caps of today that have refused a call; of one tenant, or all."""
        look = partial(budgets.find_reached, now=self.now(), scopes=OF_ALL)
        return await self._store.of(tenant).read(look)

    async def own_cap(self, principal: Principal) -> CapUse | None:
        """Return a person's own cap of today with its use, or None."""
        spender = Spender(principal.tenant, principal.user_id, "", "", principal.timezone)
        cap = next((cap for cap in await self._running(spender, self.now()) if cap.scope == "user"), None)
        if cap is None:
            return None
        return self.without_calls(CapUse(cap, await self._store.read(partial(budgets.used_of, cap=cap), lasting=True)))

    async def standing(self, tenant: str | None = None) -> dict[str, str]:
        """Return the requested caps of today with their use, for `tenk status`; those nearest to their limit.

        With a tenant its own alone; None: all, with ids for the people of other tenants.
        """
        uses = await self._store.of(tenant).read(partial(budgets.in_use, now=self.now(), limit=20))
        if not uses:
            return {"today": "nothing is used yet"} if self._config.has_any and tenant is None else {}
        everybody = await self._store.of(tenant or DEFAULT_TENANT).read(people.everybody)
        names = {known.user_id: f"{escape_controls(known.display_name)} (…{known.user_id[-4:]})" for known in everybody}
        return {
            " ".join(
                filter(None, (use.cap.scope, *_whose(use.cap), names.get(use.cap.key, use.cap.key), use.cap.day))
            ): words_of(use)
            for use in uses
        }


def _spending_before(connection: Connection, cap: Cap, accounts: Mapping[str, UsageSum]) -> Spending:
    if cap.scope == "channel":
        account = accounts[cap.key]
        tokens = (account.input_tokens or 0) + (account.output_tokens or 0)
        return Spending(tokens, account.cost_microusd or 0)
    assert cap.resets_at is not None, "only a turn's cap never resets"
    return Spending(*usage.spent_since(connection, cap.resets_at - A_DAY, cap.tenant, cap.key))


def _whose(cap: Cap) -> tuple[str, ...]:
    """Return the tenant, if there are several."""
    return () if cap.tenant in ("", DEFAULT_TENANT) or cap.scope == "channel" else (cap.tenant,)


def _charged_model(model: ChatModel, link: LinkConfig, budget: Budget, lost_prices: Mapping[str, Decimal]) -> ChatModel:
    last = lost_prices.get(link.name)
    return BudgetedModel(model, link, budget, None if last is None else TokenPrices.flat(last))


CONSOLIDATION = "consolidation"
"""Scope of the cap on what consolidation costs a tenant in a UTC day."""


class SystemBudget:
    """The budget of work that no person has asked for; a `Budget` of its model. It counts to no other cap."""

    def __init__(self, tenant: str, most_usd: Decimal, store: Store, dates: Callable[[], datetime]) -> None:
        self._tenant = tenant
        self._most_usd = most_usd
        self._store = store
        self._now = dates

    def charge_by(self, lost_prices: Mapping[str, Decimal]) -> Charge:
        """Return a function that puts the cap around a model; `lost_prices` are as in `Budgets.charge_by`."""

        def charge(model: ChatModel, link: LinkConfig) -> ChatModel:
            return _charged_model(model, link, self, lost_prices)

        return charge

    async def reserve(self, most: Spending, least: Spending | None = None) -> Hold:
        """Set aside `most`: a shorter answer would be broken.

        Raises:
            OverBudget: there is no room for it today.
        """
        cap, id_ = self.cap(), new_id()
        hold = _StoredHold(self._store, id_, [cap], _do_nothing)
        try:
            hold.granted = await self._store.commit(budgets.reserve, id_, [cap], most, self._now())
        except CapReached:
            raise OverBudget(EndReason.MAX_COST, cap.scope, cap.resets_at) from None
        return hold

    def cap(self) -> Cap:
        """Return the cap of today."""
        day = self._now().astimezone(UTC).date()
        resets_at = datetime.combine(day + timedelta(days=1), time(), UTC)
        return Cap(self._tenant, CONSOLIDATION, "", day.isoformat(), int(self._most_usd * 1_000_000), None, resets_at)


def _do_nothing(_granted: Spending) -> None:
    pass


class BudgetWatch:
    """Tells owners, once a day a cap, that it is nearly used: in their own chats, and in the log in any case."""

    def __init__(self, caps: Budgets, store: Store, channels: ChannelDirectory) -> None:
        self._caps = caps
        self._store = store
        self._words = OwnerNotices(store, channels, caps.now)

    async def look(self) -> None:
        """Tell owners of each cap that is nearly used, once; do nothing unless a call was settled since."""
        if not self._caps.news.is_set():
            return
        self._caps.news.clear()
        look = partial(budgets.nearly_used, now=self._caps.now(), percent=NEARLY_PERCENT)
        uses = map(self._caps.without_calls, await self._store.read(look, lasting=True))
        for use in (use for use in uses if use.percent >= NEARLY_PERCENT):
            log.warning("budget_nearly_used", scope=use.cap.scope, key=use.cap.key, used=words_of(use))
            parts = await self._parts(use)
            await self._store.commit(self._tell, use, parts)

    def _tell(self, connection: Connection, use: CapUse, parts: Sequence[OutboxPart]) -> None:
        if budgets.mark_told(connection, use.cap):
            outbox.put(connection, use.cap.tenant or DEFAULT_TENANT, parts, self._caps.now())

    async def _parts(self, use: CapUse) -> list[OutboxPart]:
        """Return the messages to the owners, each to the direct chat of their last message."""
        cap = use.cap
        known = {person.user_id: person for person in await self._store.read(people.everybody, lasting=True)}
        who = known[cap.key].display_name if cap.key in known else cap.key
        key = f"budgets.nearly_{cap.scope if cap.scope in {'user', 'channel', CONSOLIDATION} else 'all'}"
        place = hashlib.blake2s(f"{cap.tenant} {cap.scope} {cap.key}".encode(), digest_size=6).hexdigest()

        def text_of(owner: Person) -> str:
            used = words_of(use, owner.locale)
            told = HARNESS.text(owner.locale, key, who=escape(who), percent=use.percent, used=used)
            return told if use.percent <= FULL_PERCENT else f"{told} {HARNESS.text(owner.locale, 'budgets.over')}"

        return await self._words.parts(cap.tenant or DEFAULT_TENANT, Notice("cap", f"{place}:{cap.day}"), text_of)


def words_of(use: CapUse, locale: str | None = None) -> str:
    """Return the use beside each limit: "0.85 / 1.00 USD, 12,000 / 50,000 tokens"."""
    limits = []
    if use.cap.most_microusd is not None:
        cap = use.cap.most_microusd
        most = usd_text(cap) if cap % MICROUSD_PER_CENT == 0 else f"{cap / 1_000_000:.6f}".rstrip("0")
        limits.append(f"{usd_text(use.used.microusd)} / {most} USD")
    if use.cap.most_tokens is not None:
        limits.append(f"{use.used.tokens:,} / {use.cap.most_tokens:,} tokens")
    return ", ".join(in_digits(limit, locale) for limit in limits)


@dataclass(frozen=True, slots=True)
class _NoHold:
    """Nothing is capped for this call."""

    granted: Spending

    def settle(self, spent: Spending) -> None:
        """Nothing was set aside."""


class _StoredHold:
    """The amount that is set aside in the store for one call."""

    def __init__(self, store: Store, id_: str, caps: Sequence[Cap], note_settled: Callable[[Spending], None]) -> None:
        """`note_settled` is told what was granted, once that is over."""
        self.granted = Spending()
        self._store = store
        self._id = id_
        self._caps = caps
        self._note_settled = note_settled

    def settle(self, spent: Spending) -> None:
        """Queued before whatever is written next, and never waited for: a process that dies before leaves the whole."""
        self._store.queue(budgets.settle, self._id, self._caps, spent).add_done_callback(self._follow_up)

    def _follow_up(self, settled: "asyncio.Future[Spending | None]") -> None:
        if settled.cancelled():
            return
        if (error := settled.exception()) is not None:
            log.error("budget_not_settled", error=str(error))
        else:
            self._note_settled(Spending() if settled.result() is None else self.granted)
