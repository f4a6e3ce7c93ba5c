"""A person's own days and weeks. Instants become dates here, and only dates are counted: DST cannot matter.

`utc_now` is the default clock; the gateway passes its own (`channels.clocks`).
"""

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from agent.ports import Principal, RequestContext


def utc_now() -> datetime:
    """Return the machine's clock, aware."""
    return datetime.now(UTC)


def zone_of(name: str) -> tzinfo:
    """Return the zone of this IANA name; UTC when there is no such zone."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, a path trick, a folder's name
        return UTC


def is_zone(name: str) -> bool:
    """Return whether this is an IANA name that has data here."""
    return name == "UTC" or zone_of(name) is not UTC


def local_date(now: datetime, timezone: str) -> date:
    """Return the date on the person's wall at this instant."""
    return now.astimezone(zone_of(timezone)).date()


def context_of(principal: Principal, now: datetime, data: object = None) -> RequestContext:
    """Return the request context for this person that a model in this process gets."""
    return RequestContext(principal.locale, now.astimezone(zone_of(principal.timezone)), data)


def today_of(principal: Principal, now: datetime) -> date:
    """Return the person's today."""
    return local_date(now, principal.timezone)


def week_of(day: date, week_start: int) -> date:
    """Return the first day of the week that holds `day`; `week_start` 0 is Monday, 6 Sunday."""
    return day - timedelta(days=(day.weekday() - week_start) % 7)
