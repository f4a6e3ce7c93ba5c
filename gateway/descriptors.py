"""The limit on open files, and settings that stay within it."""

import resource

import structlog

from gateway.config.settings import Settings

LEAST_CONNECTIONS = 8
WANTED_FILES = 65_536  # more than the gateway opens at its largest settings
MACOS_FILES = 10_240  # macOS takes no more, whatever its hard limit says (OPEN_MAX in sys/syslimits.h)

log = structlog.get_logger()


def raise_file_limit() -> int:
    """Raise the soft limit on open files as far as the system allows, and return the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED_FILES
    for wanted in (WANTED_FILES, MACOS_FILES):
        allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if allowed <= soft:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        except (OSError, ValueError):
            continue
        return allowed
    return soft


def fit_to_files(settings: Settings, files: int) -> Settings:
    """Return the settings with at most half of the files as connections, and three quarters of those as open pages."""
    connections = max(LEAST_CONNECTIONS, min(settings.http.connections, files // 2))
    views = max(1, min(settings.channels.web.views, connections * 3 // 4))
    if connections < settings.http.connections:
        log.warning("connections_limited", connections=connections, files=files, mend="raise the limit on open files")
    http = settings.http.model_copy(update={"connections": connections})
    web = settings.channels.web.model_copy(update={"views": views})
    channels = settings.channels.model_copy(update={"web": web})
    return settings.model_copy(update={"http": http, "channels": channels})
