"""Tells owners in their own chats what needs them: a channel that is down, a model that fails, answers nobody got.
A tenant's troubles are its owners' matter; where it has none yet, the installation's hear of them.

Each trouble is told once, and once that it is over; one that comes and goes is told once an hour at most. What was told
is kept, so that a restart repeats nothing. What is wrong is looked up by `status`; budgets have a watch of their own.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from agent.catalogue import escape
from channels.clocks import Clock
from channels.messages import DEFAULT_TENANT
from gateway.delivery.delivery import Delivery
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.owner_notices import OwnerNotices, owner_chats
from gateway.ops.status import OF_TENANT, Trouble, tenant_of
from gateway.store import outbox
from gateway.store.engine import Connection, Store
from gateway.store.outbox import OutboxPart, OutboxRow
from gateway.store.rows import Rows
from gateway.store.tables.turns import alerts
from gateway.texts import HARNESS

LOOK_S = 5.0
GRACE = timedelta(seconds=60)
"""What is well again by then was never worth a message."""

QUIET = timedelta(hours=1)
"""Between two tellings of one trouble."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Alert:
    """One trouble as owners know it; a restart repeats nothing."""

    key: str  # what is in trouble: "channel telegram:main"
    began_at: datetime
    told_at: datetime | None = None  # when owners were told last, perhaps of an earlier time; None: never
    over_at: datetime | None = None  # None: it lasts
    level: int = 0  # how much of it was told; more of it may be told again
    tenant: str = DEFAULT_TENANT

    @property
    def is_told(self) -> bool:
        """Return whether owners know of it as it is now."""
        return self.told_at is not None and self.told_at >= self.began_at


ALERTS = Rows(alerts, Alert)


@dataclass(frozen=True, slots=True)
class Telling:
    """One message to owners."""

    alert: Alert  # as it is from then on
    trouble: Trouble | None  # None: it is over


@dataclass(frozen=True, slots=True)
class Review:
    """What follows of one look."""

    kept: Sequence[Alert]
    gone: Sequence[str]
    tellings: Sequence[Telling]


def review(looked: Mapping[str, Trouble | None], known: Mapping[str, Alert], now: datetime) -> Review:
    """What to keep, forget and tell. A key with None is known to be well; of one that is missing nobody knows. Pure."""
    kept: list[Alert] = []
    gone: list[str] = []
    tellings: list[Telling] = []
    for key, trouble in looked.items():
        before = known.get(key)
        if trouble is not None:
            alert = _as_it_lasts(trouble, before, now)
            if alert.told_at == now:
                tellings.append(Telling(alert, trouble))
            if alert != before:
                kept.append(alert)
        elif before is not None and before.over_at is None:
            kept.append(replace(before, over_at=now))
            if before.is_told:
                tellings.append(Telling(kept[-1], None))
        elif before is not None and (before.told_at is None or now - before.told_at >= QUIET):
            gone.append(key)
    return Review(kept, gone, tellings)


def _as_it_lasts(trouble: Trouble, before: Alert | None, now: datetime) -> Alert:
    if before is None:
        alert = Alert(trouble.key, now, tenant=tenant_of(trouble.key))
    elif before.over_at is not None:  # it is back
        alert = replace(before, began_at=now, over_at=None)
    else:
        alert = before
    due = trouble.at_once or now - alert.began_at >= GRACE
    is_news = not alert.is_told or trouble.level > alert.level
    quiet = alert.told_at is not None and now - alert.told_at < QUIET
    return replace(alert, told_at=now, level=trouble.level) if due and is_news and not quiet else alert


class OwnerAlerts:
    """Looks at what is wrong now and then, and tells."""

    def __init__(
        self, store: Store, look: Callable[[], Awaitable[Mapping[str, Trouble | None]]], channels: ChannelDirectory,
        delivery: Delivery, clock: Clock,
    ) -> None:  # fmt: skip
        """`look` finds what is wrong now, `GatewayStatus.troubles`."""
        self._store = store
        self._look = look
        self._words = OwnerNotices(store, channels, delivery, clock)
        self._delivery = delivery
        self._clock = clock

    async def look(self) -> None:
        """Tell of what is new, and of what is over; in one commit with what is kept of it."""
        found, known = await self._look(), await self._store.read(ALERTS.find, lasting=True)
        result = review(found, {alert.key: alert for alert in known}, now := self._clock())
        told_to = {
            each: await self._audience(each) for each in {tenant_of(telling.alert.key) for telling in result.tellings}
        }
        unheard = {telling.alert.key for telling in result.tellings if not told_to[tenant_of(telling.alert.key)]}
        kept = [alert for alert in result.kept if alert.key not in unheard]  # the rest is new to whoever comes
        said: dict[str, list[OutboxPart]] = {}
        for telling in result.tellings:
            if audience := told_to[tenant_of(telling.alert.key)]:
                said.setdefault(audience, []).extend(await self._parts(telling, audience, now))
        if kept or result.gone:
            self._delivery.publish(await self._store.commit(_keep, kept, result.gone, said, now))

    async def _audience(self, tenant: str) -> str:
        """Whose owners hear of this tenant's troubles: its own, else the installation's; "" where there is nobody."""
        for whose in (tenant, DEFAULT_TENANT):
            if await self._store.read(partial(owner_chats, tenant=whose)):
                return whose
        return ""

    async def _parts(self, telling: Telling, audience: str, now: datetime) -> list[OutboxPart]:
        """What each owner is told, in the chat they were heard in last; not through what is down itself."""
        alert, trouble = telling.alert, telling.trouble
        log.warning("alert_told", trouble=alert.key, why="over" if trouble is None else trouble.words)
        kind, _, name = alert.key.partition(OF_TENANT)[0].partition(" ")
        down = name if kind == "channel" and trouble is not None else ""
        place = hashlib.blake2s(f"{alert.key} {now.isoformat()}".encode(), digest_size=8).hexdigest()
        values: dict[str, object] = {
            "name": escape(name), "why": escape("" if trouble is None else trouble.why),
            "minutes": max(1, round((now - alert.began_at) / timedelta(minutes=1))),
            **({} if trouble is None else trouble.counts),
        }  # fmt: skip
        said = f"alerts.{kind}" + ("" if trouble else "_over")
        cause = f"alert:{place}"
        return await self._words.parts(audience, cause, lambda owner: HARNESS.text(owner.locale, said, **values), down)


def _keep(
    connection: Connection, kept: Sequence[Alert], gone: Sequence[str], said: Mapping[str, Sequence[OutboxPart]],
    now: datetime,
) -> list[OutboxRow]:  # fmt: skip
    for alert in kept:
        ALERTS.put(connection, alert)
    ALERTS.delete(connection, key=gone)
    return [row for tenant, parts in said.items() for row in outbox.put(connection, tenant, parts, now)]
