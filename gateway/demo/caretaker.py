"""Ends the demo's gateway and takes its files away where the demo itself could not, killed as it was.

A process of its own. It reads the gateway's process id, a line each time one starts, from the demo; the end of that
input without the word `done` means that the demo is gone.
"""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

DONE = "done"


class Caretaker:
    """Watches a directory while `with` lasts; whoever leaves it well has ended the gateway by then."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603  our own module
            [sys.executable, "-m", "gateway.demo.caretaker", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # what ends the demo's group does not end this
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell(DONE)
        self._process.communicate()

    def watch(self, pid: int) -> None:
        """The gateway that runs from now on."""
        self._tell(str(pid))

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None, "it was asked for"
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def main(directory: Path) -> None:
    """Wait for the end of the demo, then end what it left."""
    pid: int | None = None
    for line in sys.stdin:
        if line.strip() == DONE:
            return
        pid = int(line)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
