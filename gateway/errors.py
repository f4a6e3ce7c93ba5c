"""Error classes of the gateway."""

from collections.abc import Collection
from difflib import get_close_matches


class GatewayError(Exception):
    """An error whose message tells the operator what to do."""


class SettingsError(GatewayError):
    """The configuration cannot be used; the message names file, line, key and the nearest right name."""


class AlreadyRunning(GatewayError):
    """Another gateway holds this home."""

    @property
    def while_silent(self) -> str:
        """Return the message for a caller that gets no answer from it."""
        return f"{self}; it does not answer: it starts, stops or hangs, or another command is at work"


class StoreUnavailable(GatewayError):
    """Error: the store refused a job (disk full, read-only, I/O error, connection lost). Its outcome is unknown."""


class ServerAway(StoreUnavailable):
    """Error: the database server does not answer or accept connections yet."""


class SchemaTooNew(GatewayError):
    """A newer version of an agent product changed its tables; nothing was changed."""


class SchemaDiffers(GatewayError):
    """The database is of another revision, and this version or this command cannot bring it up to date."""


class StoreClosed(GatewayError):
    """A final dump was made of the database: no gateway uses it until it is reopened."""


def unknown_tenant(name: str, known: Collection[str]) -> str:
    """Say that there is no tenant of this name, with the nearest one, or all there are."""
    near = get_close_matches(name, known, 1, cutoff=0.6)
    hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(known)}"
    return f'there is no tenant "{name}"; {hint}'
