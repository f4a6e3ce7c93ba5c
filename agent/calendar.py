"""A person's own days and weeks. Only dates are counted here, so that daylight saving does not matter.

`utc_now` is the default clock; the gateway passes its own (`channels.clocks`).
"""

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from agent.ports import Principal, RequestContext


def utc_now() -> datetime:
    """Return the current UTC time of this machine."""
    return datetime.now(UTC)


def zone_of(name: str) -> tzinfo:
    """Return the zone with this IANA name, or UTC if it is unknown."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, a path trick, a folder's name
        return UTC


def is_zone(name: str) -> bool:
    """Return True if this IANA name has zone data here."""
    return name == "UTC" or zone_of(name) is not UTC


def local_date(now: datetime, timezone: str) -> date:
    """Return the local date in this zone at this instant."""
    return now.astimezone(zone_of(timezone)).date()


def context_of(principal: Principal, now: datetime, data: object = None) -> RequestContext:
    """Return the request context for this person that a model in this process gets."""
    local = now.astimezone(zone_of(principal.timezone))
    return RequestContext(principal.locale, local, data, keeps_language=principal.keeps_language)


def today_of(principal: Principal, now: datetime) -> date:
    """Return the current date in the person's zone."""
    return local_date(now, principal.timezone)


def week_of(day: date, week_start: int) -> date:
    """Return the first day of the week that holds `day`; `week_start` 0 is Monday, 6 Sunday."""
    return day - timedelta(days=(day.weekday() - week_start) % 7)
