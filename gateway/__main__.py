"""The command `tenk`. Turns the errors that an operator can mend into one line; anything else keeps its traceback."""

import gc
import sys

from gateway.cli.root import root
from gateway.errors import GatewayError

COLLECTED_AFTER = (10_000, 20, 10)
"""Objects after which the collector looks for cycles: with Python's own 700 it takes a twentieth of a busy gateway's
time and a quarter of what its imports take (November 2026), and next to nothing here is a cycle."""


def main() -> None:
    """Run the command line; the exit status is 1 on an error that an operator can mend, 2 on a wrong use."""
    gc.set_threshold(*COLLECTED_AFTER)
    try:
        root(prog_name="tenk")
    except GatewayError as error:
        _tell(error)
        sys.exit(1)
    except PermissionError as error:
        sys.stderr.write(f"error: this user may not use {error.filename} ({error.strerror}); run as whose it is\n")
        sys.exit(1)
    except BaseExceptionGroup as group:
        ours, rest = group.split(GatewayError)
        if ours is None or rest is not None:
            raise
        for leaf in _leaves(ours):
            _tell(leaf)
        sys.exit(1)


def _tell(error: BaseException) -> None:
    sys.stderr.write(f"error: {error}\n")


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


if __name__ == "__main__":
    main()
