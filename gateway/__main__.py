"""The command `tenk`. Errors that an operator can mend become one line; others keep their traceback."""

import errno
import gc
import io
import os
import sys
from contextlib import suppress
from pathlib import Path

from gateway.cli.root import root
from gateway.errors import GatewayError
from gateway.safety.redaction import escape_controls

COLLECTED_AFTER = (10_000, 20, 10)
"""Thresholds of the garbage collector: with Python's own 700 it takes a twentieth of a busy gateway's time and a
quarter of its imports (November 2026), and hardly any objects here form cycles.
"""

SWITCHES_AFTER_S = 0.0002
"""Switch interval of threads: with Python's own 0.005 the event loop learns that late of each commit and read, three
times a message (November 2026).
"""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main() -> None:
    """Run the command line; the exit status is 1 on an error that an operator can mend, 2 on a wrong use."""
    _open_closed_streams()
    gc.set_threshold(*COLLECTED_AFTER)
    sys.setswitchinterval(SWITCHES_AFTER_S)
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # not a plain stream
            sys.stdout.reconfigure(errors="replace")  # a terminal without "…" shows a question mark
    try:
        root(prog_name="tenk")
    except (GatewayError, OSError) as error:
        if not (words := _words_of(error)):
            raise
        _tell(words)
        with suppress(OSError):
            sys.stdout.close()  # do not try again at exit
        sys.exit(1)
    except BaseExceptionGroup as group:
        ours, rest = group.split(GatewayError)
        if ours is None or rest is not None:
            raise
        for leaf in _leaves(ours):
            _tell(str(leaf))
        sys.exit(1)


def _open_closed_streams() -> None:
    """Open closed standard streams, so that no other file gets their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  open as long as the process


def _tell(words: str) -> None:
    sys.stderr.write("error: " + "\n".join(map(escape_controls, words.splitlines())) + "\n")  # they may quote strangers


def _words_of(error: Exception) -> str:
    """Return an error's text for the operator; "" if they cannot mend it."""
    if isinstance(error, PermissionError):
        return f"this user may not use {error.filename} ({error.strerror}); run as whose it is"
    if isinstance(error, OSError):
        return f"this cannot be written ({error.strerror})" if error.errno in NO_ROOM else ""
    return str(error)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


if __name__ == "__main__":
    main()
