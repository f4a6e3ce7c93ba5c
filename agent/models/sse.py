"""Server-sent events from raw bytes (WHATWG HTML, "Parsing an event stream", read 2026-11); pure, no I/O.

Only `event` and `data` are kept: reconnection (`id`, `retry`) has no place in a model call.
"""

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""An event, or a line, longer than this is no model's."""

_BOM = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """The stream holds an event beyond `MAX_EVENT_BYTES`."""


class EventParser:
    """Takes bytes as they come, cut anywhere; gives whole events as (name, data), data still bytes.

    An event that the stream's end cuts off is never given, as the standard wants it.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of a line that is not whole yet
        self._held = 0  # bytes in them
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._begun = False

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """Return the events that these bytes complete.

        Raises:
            EventTooLong: one of them is beyond measure.
        """
        if b"\n" not in chunk and b"\r" not in chunk:
            self._hold(chunk)
            return []
        text, late = chunk, b""
        if self._pieces:
            text = b"".join((*self._pieces, chunk))
            self._pieces, self._held = [], 0
        if b"\r" in text:
            if text.endswith(b"\r"):  # its line feed may be in the next chunk
                text, late = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        if rest or late:
            self._hold(rest + late)
        return self._take(lines)

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > MAX_EVENT_BYTES:
            raise EventTooLong

    def _take(self, lines: list[bytes]) -> list[tuple[str, bytes]]:
        if lines and not self._begun:
            lines[0] = lines[0].removeprefix(_BOM)
            self._begun = True
        events: list[tuple[str, bytes]] = []
        for line in lines:
            if not line:
                if self._data:
                    events.append((self._name, b"\n".join(self._data)))
                self._name, self._data, self._data_bytes = "", [], 0
                continue
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                self._data_bytes += len(value) + 1
                if self._data_bytes > MAX_EVENT_BYTES:
                    raise EventTooLong
            elif name == b"event":
                self._name = value.removeprefix(b" ").decode(errors="replace")
        return events
