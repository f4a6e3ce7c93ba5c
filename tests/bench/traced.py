"""The gateway as `tenk run` starts it, with a record of the functions of the product that it enters.

SIGUSR1 writes the functions entered since the last SIGUSR1 to the file that is the first argument.
"""

import json
import runpy
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

ROOT = f"{Path(__file__).parents[2]}/"
PACKAGES = tuple(f"{ROOT}{package}/" for package in ("gateway", "agent", "channels"))


class Trace:
    """A record of the functions entered, in every thread that starts after it."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._entered: set[tuple[str, str]] = set()

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call; `sys.setprofile` calls this."""
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            self._entered.add((frame.f_code.co_filename.removeprefix(ROOT), frame.f_code.co_qualname))

    def write(self, *_signal: object) -> None:
        """Write what was entered since the last call, and begin anew."""
        entered, self._entered = self._entered, set()
        written = self._out.with_suffix(".new")
        written.write_text(json.dumps(sorted(entered)))
        written.replace(self._out)


if __name__ == "__main__":
    trace = Trace(Path(sys.argv.pop(1)))
    signal.signal(signal.SIGUSR1, trace.write)
    threading.setprofile(trace.note)
    sys.setprofile(trace.note)
    runpy.run_module("gateway", run_name="__main__", alter_sys=True)
