"""Which time zone somebody means: IANA names in any case, a city alone, or what is nearest. Pure."""

from difflib import get_close_matches
from functools import cache
from zoneinfo import available_timezones

from agent.calendar import is_zone


@cache
def _by_name() -> dict[str, str]:
    """Zones by folded name; reading them from disk once is enough."""
    regional = [name for name in available_timezones() if "/" in name or name == "UTC"]
    return {name.casefold(): name for name in sorted(regional) if is_zone(name)}


@cache
def _by_city() -> dict[str, str]:
    cities: dict[str, str] = {}
    for folded, name in _by_name().items():
        if not folded.startswith(("etc/", "posix/", "right/", "us/", "brazil/", "canada/", "mexico/", "chile/")):
            cities.setdefault(folded.rsplit("/", 1)[-1], name)
    return cities


def find_zone(text: str) -> str | None:
    """The IANA name for what was written; None where it names no zone."""
    folded = "_".join(text.split()).casefold()
    return _by_name().get(folded) or _by_city().get(folded)


def near_zones(text: str) -> tuple[str, ...]:
    """Up to three zones spelled much like it."""
    folded = "_".join(text[:64].split()).casefold()
    cities = [_by_city()[city] for city in get_close_matches(folded.rsplit("/", 1)[-1], _by_city(), n=3, cutoff=0.75)]
    names = [_by_name()[name] for name in get_close_matches(folded, _by_name(), n=3, cutoff=0.8)]
    return tuple(dict.fromkeys((*names, *cities)))[:3]
