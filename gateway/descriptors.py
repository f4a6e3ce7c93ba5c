"""How many descriptors the process may have open, and how many it has. Who gets them is decided elsewhere."""

import os
import resource

WANTED = 65_536
"""Enough for everything the gateway can open at its largest settings; a hard limit may be a thousand times that."""

MACOS_MOST = 10_240
"""What macOS takes at most whatever its hard limit says (OPEN_MAX in sys/syslimits.h)."""


USUALLY_OPEN = 32
"""What a gateway that begins has open, generously."""


def raise_soft_limit() -> int:
    """Raise the soft limit to what the hard one allows, as far as it is wanted; the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    for wanted in (allowed, min(allowed, MACOS_MOST)):
        if soft == resource.RLIM_INFINITY or wanted <= soft:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            continue
        return wanted
    return WANTED if soft == resource.RLIM_INFINITY else soft


def free(limit: int) -> int:
    """How many more could be opened under this limit."""
    try:
        used = len(os.listdir("/dev/fd"))  # noqa: PTH208  names alone
    except OSError:  # a machine that does not tell
        used = USUALLY_OPEN
    return max(0, limit - used)
