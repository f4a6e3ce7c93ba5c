"""The parts of a store URL: a file, or a server and how it is reached."""

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from gateway.errors import SettingsError

SERVERS = ("postgresql", "postgres")

FORMS = "sqlite:///path/tenk.db or postgresql://user:password@host/database"
ESCAPES = "what is special in a user or a password is written otherwise: %40 for @, %2F for /, %3A for :, %25 for %"
MOST_PORT = 65_535


def read_url(url: str) -> URL:
    """Return the parts of a URL that names a store we know.

    Raises:
        SettingsError: it does not; the words say what to write.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        quoted = ", without quotation marks" if url[:1] in "'\"" else ""
        raise SettingsError(f"the store URL cannot be read; write {FORMS}{quoted}") from None
    except ValueError:
        several = "several hosts go behind it: ?host=a,b&port=5432,5432" if "," in url else f"write {FORMS}"
        raise SettingsError(f"the store URL cannot be read, its port is no number; {several}") from None
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return parsed
        case "sqlite":
            raise SettingsError("a store in memory would forget what it acknowledged; write sqlite:///path/tenk.db")
        case name if name in SERVERS:
            _refuse_parts(parsed)
            return parsed
    raise SettingsError(f"no store for {parsed.drivername!r}; write {FORMS}")


def _refuse_parts(parsed: URL) -> None:
    """Refuse a URL that the driver cannot read, or whose password would be taken for a part of the address."""
    if "@" in (parsed.host or "") + (parsed.database or ""):
        raise SettingsError(f"the store URL cannot be read, it has too many @: {ESCAPES}")
    if "[" in (parsed.host or ""):
        raise SettingsError(f"the store URL cannot be read; write {FORMS}")
    behind = ",".join(parsed.normalized_query.get("port", ())).split(",")
    for port in (str(parsed.port or ""), *behind):
        if port and not (port.isdecimal() and 0 < int(port) <= MOST_PORT):
            raise SettingsError(f"the store URL cannot be used, its port is none: {port}")


def file_of(url: str) -> Path | None:
    """Return the file of an SQLite store URL; None for a server's.

    Raises:
        SettingsError: as `read_url`.
    """
    parsed = read_url(url)
    return Path(str(parsed.database)) if parsed.get_backend_name() == "sqlite" else None


def server_of(url: str) -> tuple[URL, dict[str, Any]]:
    """Return where SQLAlchemy connects to, and the options behind the question mark (`sslmode`) as asyncpg reads them.

    Raises:
        SettingsError: as `read_url`; what speaks to servers is not installed.
    """
    parsed = read_url(url)
    try:
        import asyncpg  # type: ignore[import-untyped]  # noqa: F401, PLC0415  it has no types; 30 ms, for a server alone
    except ImportError:
        to_do = (
            "install the gateway with the extra postgres (pip install 'tenk-gateway[postgres]'), or unset DATABASE_URL"
        )
        raise SettingsError(f"DATABASE_URL names a PostgreSQL, and asyncpg is not installed: {to_do}") from None
    words = urlencode(parsed.normalized_query, doseq=True, quote_via=quote)
    return parsed.set(drivername="postgresql+asyncpg", query={}), {"dsn": f"postgresql://?{words}"} if words else {}


def public_url(url: str) -> str:
    """Return the URL without its password."""
    if (file := file_of(url)) is not None:
        return str(file.absolute())
    parsed = read_url(url)
    where = {key: parsed.query[key] for key in ("host", "port") if key in parsed.query}
    return parsed.set(drivername="postgresql", query=where).render_as_string(hide_password=True)
