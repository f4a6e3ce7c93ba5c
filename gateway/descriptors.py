"""Descriptors: how many files and connections the process may open, and settings that leave room for everything."""

import os
import resource

import structlog

from gateway.config.settings import Settings

LEAST_CONNECTIONS = 8

WANTED_DESCRIPTORS = 65_536
"""Enough for everything the gateway can open at its largest settings; a hard limit may be a thousand times that."""

MACOS_MOST = 10_240
"""What macOS takes at most whatever its hard limit says (OPEN_MAX in sys/syslimits.h)."""


USUALLY_OPEN = 32
"""What a gateway that begins has open, generously."""

log = structlog.get_logger()


def fit_to_descriptors(settings: Settings, free: int) -> Settings:
    """The settings with no more connections than half of the descriptors that are free, and fewer views than those.

    The other half is what platforms, models, the store and `tenk status` need; the fourth quarter of the connections is
    for requests that come and go, webhooks among them.
    """
    connections = max(LEAST_CONNECTIONS, min(settings.http.connections, free // 2))
    views = max(1, min(settings.channels.web.views, connections * 3 // 4))
    if connections < settings.http.connections:
        log.warning("connections_limited", connections=connections, files=free, mend="raise the limit on open files")
    http = settings.http.model_copy(update={"connections": connections})
    web = settings.channels.web.model_copy(update={"views": views})
    channels = settings.channels.model_copy(update={"web": web})
    return settings.model_copy(update={"http": http, "channels": channels})


def raise_soft_limit() -> int:
    """Raise the soft limit to what the hard one allows, as far as it is wanted; the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    for wanted in (allowed, min(allowed, MACOS_MOST)):
        if soft == resource.RLIM_INFINITY or wanted <= soft:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            continue
        return wanted
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def free_descriptors(limit: int) -> int:
    """How many more could be opened under this limit."""
    try:
        used = len(os.listdir("/dev/fd"))  # noqa: PTH208  names alone
    except OSError:  # a machine that does not tell
        used = USUALLY_OPEN
    return max(0, limit - used)
