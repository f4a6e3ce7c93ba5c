"""Alerts to owners in their chats: a channel is down, a model fails, answers could not be delivered.

Owners get one alert for each problem and one when it is over, at most once an hour if it comes and goes. Alerts are
stored, so that a restart repeats none. If a tenant has no owner, the default tenant's owners get its alerts.
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
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.owner_notices import OwnerNotices, owner_chats
from gateway.ops.status import OF_TENANT, Trouble, tenant_of
from gateway.store import outbox
from gateway.store.causes import Notice
from gateway.store.engine import Connection, Store
from gateway.store.outbox import OutboxPart
from gateway.store.rows import Rows
from gateway.store.tables.turns import alerts
from gateway.texts import HARNESS

LOOK_S = 5.0
GRACE = timedelta(seconds=60)
"""Time before an alert; a problem that ends earlier causes none."""

QUIET = timedelta(hours=1)
"""Least time between two alerts about one problem."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Alert:
    """The stored alert state of one problem."""

    key: str  # key of the problem: "channel telegram:main"
    began_at: datetime
    told_at: datetime | None = None  # last alert, perhaps about an earlier occurrence; None: never
    over_at: datetime | None = None  # None: it still lasts
    level: int = 0  # level at the last alert; a higher one may cause another
    tenant: str = DEFAULT_TENANT

    @property
    def is_told(self) -> bool:
        """Return True if owners were told about this occurrence."""
        return self.told_at is not None and self.told_at >= self.began_at


ALERTS = Rows(alerts, Alert)


@dataclass(frozen=True, slots=True)
class AlertMessage:
    """One message to owners."""

    alert: Alert  # its state after the message
    trouble: Trouble | None  # None: it is over


@dataclass(frozen=True, slots=True)
class Review:
    """The result of comparing current problems with stored alerts."""

    changed: Sequence[Alert]
    ended: Sequence[str]
    messages: Sequence[AlertMessage]


def review(looked: Mapping[str, Trouble | None], known: Mapping[str, Alert], now: datetime) -> Review:
    """Decide which alerts to store, delete and send. None means healthy; a missing key means not checked."""
    changed: list[Alert] = []
    ended: list[str] = []
    messages: list[AlertMessage] = []
    for key, trouble in looked.items():
        before = known.get(key)
        if trouble is not None:
            alert = _update_alert(trouble, before, now)
            if alert.told_at == now:
                messages.append(AlertMessage(alert, trouble))
            if alert != before:
                changed.append(alert)
        elif before is not None and before.over_at is None:
            changed.append(replace(before, over_at=now))
            if before.is_told:
                messages.append(AlertMessage(changed[-1], None))
        elif before is not None and (before.told_at is None or now - before.told_at >= QUIET):
            ended.append(key)
    return Review(changed, ended, messages)


def _update_alert(trouble: Trouble, before: Alert | None, now: datetime) -> Alert:
    if before is None:
        alert = Alert(trouble.key, now, tenant=tenant_of(trouble.key))
    elif before.over_at is not None:  # it is back
        alert = replace(before, began_at=now, over_at=None)
    else:
        alert = before
    due = trouble.at_once or now - alert.began_at >= GRACE
    is_news = not alert.is_told or trouble.level > alert.level
    has_grown = alert.is_told and alert.level == 0 < trouble.level  # it does not end by itself any more
    quiet = alert.told_at is not None and now - alert.told_at < QUIET and not has_grown
    return replace(alert, told_at=now, level=trouble.level) if due and is_news and not quiet else alert


class OwnerAlerts:
    """The task that checks for problems and alerts owners."""

    def __init__(
        self,
        store: Store,
        look: Callable[[], Awaitable[Mapping[str, Trouble | None]]],
        channels: ChannelDirectory,
        clock: Clock,
    ) -> None:
        """Keep `look`, which returns the current problems."""
        self._store = store
        self._look = look
        self._words = OwnerNotices(store, channels, clock)
        self._clock = clock

    async def look(self) -> None:
        """Send alerts about new and ended problems, in one commit with their state."""
        found, known = await self._look(), await self._store.read(ALERTS.find, lasting=True)
        result = review(found, {alert.key: alert for alert in known}, now := self._clock())
        audiences = {
            each: await self._audience(each) for each in {tenant_of(message.alert.key) for message in result.messages}
        }
        undelivered = {message.alert.key for message in result.messages if not audiences[tenant_of(message.alert.key)]}
        changed = [alert for alert in result.changed if alert.key not in undelivered]  # a later owner still gets these
        parts: dict[str, list[OutboxPart]] = {}
        for message in result.messages:
            if audience := audiences[tenant_of(message.alert.key)]:
                parts.setdefault(audience, []).extend(await self._parts(message, audience, now))
        if changed or result.ended:
            await self._store.commit(_save, changed, result.ended, parts, now)

    async def _audience(self, tenant: str) -> str:
        """Return the tenant whose owners get this tenant's alerts: itself or the default; "" if neither has any."""
        for candidate in (tenant, DEFAULT_TENANT):
            if await self._store.read(partial(owner_chats, tenant=candidate)):
                return candidate
        return ""

    async def _parts(self, message: AlertMessage, audience: str, now: datetime) -> list[OutboxPart]:
        """Return the message to each owner in the chat they last wrote in, unless that account is the problem."""
        alert, trouble = message.alert, message.trouble
        log.warning("alert_sent", trouble=alert.key, why="over" if trouble is None else trouble.words)
        kind, _, name = alert.key.partition(OF_TENANT)[0].partition(" ")
        down = name if kind == "channel" and trouble is not None else ""
        place = hashlib.blake2s(f"{alert.key} {now.isoformat()}".encode(), digest_size=8).hexdigest()
        values: dict[str, object] = {
            "name": escape(name),
            "why": escape("" if trouble is None else trouble.why),
            "minutes": max(1, round((now - alert.began_at) / timedelta(minutes=1))),
            **({} if trouble is None else trouble.counts),
        }
        said = f"alerts.{kind}_over" if trouble is None else f"alerts.{trouble.text or kind}"
        cause = Notice("alert", place)
        return await self._words.parts(audience, cause, lambda owner: HARNESS.text(owner.locale, said, **values), down)


def _save(
    connection: Connection,
    changed: Sequence[Alert],
    ended: Sequence[str],
    parts: Mapping[str, Sequence[OutboxPart]],
    now: datetime,
) -> None:
    for alert in changed:
        ALERTS.put(connection, alert)
    ALERTS.delete(connection, key=ended)
    for tenant, of_tenant in parts.items():
        outbox.put(connection, tenant, of_tenant, now)
