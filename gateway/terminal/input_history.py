"""The lines that a person typed at earlier terminals: a bounded file that only they can read."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from gateway.safety.private_files import replace_file

MOST_LINES = 1_000
MOST_CHARS = 4_000  # of a line; a longer one is not kept


class InputHistory(History):
    """Typed lines in a file, one JSON text a line; a file that cannot be used keeps nothing."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Return the newest lines first; shorten a file that holds many more."""
        try:
            written = self._path.read_text(errors="replace").splitlines()
        except OSError:
            return []
        kept = written[-MOST_LINES:]
        if len(written) > 2 * MOST_LINES:
            with suppress(OSError):
                replace_file(self._path, "".join(f"{line}\n" for line in kept).encode())
        return [text for line in reversed(kept) if (text := _read_line(line))]

    def store_string(self, string: str) -> None:
        """Append a line."""
        if len(string) > MOST_CHARS:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError), os.fdopen(os.open(self._path, flags, 0o600), "ab") as file:
            file.write(json.dumps(string).encode() + b"\n")


def _read_line(line: str) -> str:
    """Return the text of a line; "" if it is broken."""
    try:
        text = json.loads(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
