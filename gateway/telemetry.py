"""Telemetry: one log stream without secrets, and metrics."""

import logging
import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector

from gateway.safety.redaction import Redactor, escape_controls

# ---------------------------------------------------------------- metrics

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

_FAST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_SLOW_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)

INBOUND = Counter(
    "tenk_inbound_events", "Events taken in that a turn or a command answers.", ["channel", "kind"], registry=REGISTRY
)
DUPLICATES = Counter("tenk_inbound_duplicates", "Redeliveries that found their row.", ["channel"], registry=REGISTRY)
OUTCOMES = Counter("tenk_inbox_outcomes", "Inbox rows by how they ended.", ["outcome"], registry=REGISTRY)
TURNS = Counter("tenk_turns", "Turns by how they ended.", ["end_reason"], registry=REGISTRY)
TURNS_RUNNING = Gauge("tenk_turns_running", "Turns in flight.", registry=REGISTRY)
TURN_SECONDS = Histogram("tenk_turn_seconds", "A turn, start to end.", buckets=_SLOW_S, registry=REGISTRY)
OUTBOUND = Counter(
    "tenk_outbound_attempts",
    "Sends and edits by what came of them: sent, retryable, permanent, unknown.",
    ["channel", "outcome"],
    registry=REGISTRY,
)
OUTBOX_WAITING = Gauge(
    "tenk_outbox_waiting", "Parts without an end, those of parked chats included.", registry=REGISTRY
)
OUTBOX_FAILED = Gauge(
    "tenk_outbox_failed", "Parts that an operator may look into: dead, unknown.", ["state"], registry=REGISTRY
)
MODEL_SECONDS = Histogram(
    "tenk_model_response_seconds", "A model response, asked to whole.", ["model"], buckets=_SLOW_S, registry=REGISTRY
)
MODEL_FAILURES = Counter("tenk_model_failures", "Model calls without a response.", ["model", "kind"], registry=REGISTRY)
MODEL_FAILING = Gauge(
    "tenk_model_failing", "1 from a model's failure on until it answers again.", ["model"], registry=REGISTRY
)
MODEL_TOKENS = Counter(
    "tenk_model_tokens", "Tokens of models' responses, all input and output.", ["model", "kind"], registry=REGISTRY
)
MODEL_COST_USD = Counter(
    "tenk_model_cost_usd", "What models' responses cost, where their price is known.", ["model"], registry=REGISTRY
)
RECOVERIES = Counter("tenk_recoveries", "Fallbacks that turns took, by their names.", ["fallback"], registry=REGISTRY)
TOOL_CALLS = Counter("tenk_tool_calls", "Tool calls by what became of them.", ["tool", "outcome"], registry=REGISTRY)
TOOL_SECONDS = Histogram(
    "tenk_tool_seconds", "A tool's run, without what it waited for.", ["tool"], buckets=_SLOW_S, registry=REGISTRY
)
COMMIT_SECONDS = Histogram(
    "tenk_store_commit_seconds", "One commit of a group of jobs.", buckets=_FAST_S, registry=REGISTRY
)
COMMIT_JOBS = Histogram(
    "tenk_store_commit_jobs", "Jobs that shared a commit.", buckets=(1, 2, 4, 8, 16, 32, 64, 128), registry=REGISTRY
)
LOOP_STALLS = Counter(
    "tenk_loop_stalls", "Times the event loop stood still for over 200 ms, by where.", ["place"], registry=REGISTRY
)
LOOP_STALL_SECONDS = Histogram(
    "tenk_loop_stall_seconds", "How long the event loop stood still.", buckets=_SLOW_S, registry=REGISTRY
)
CHANNEL_READY = Gauge("tenk_channel_ready", "1 while the channel is ready.", ["channel", "account"], registry=REGISTRY)
CHANNEL_HEARD_AT = Gauge(
    "tenk_channel_heard_timestamp_seconds",
    "When the platform was last really heard, Unix seconds.",
    ["channel", "account"],
    registry=REGISTRY,
)
FAULTS = Counter(
    "tenk_faults", "Unexpected errors that ended one piece of work, and nothing else.", ["kind"], registry=REGISTRY
)

GUARD_FINDINGS = Counter(
    "tenk_guard_findings",
    "Texts that a pattern of the input guard fits, by what was done: log, warn, block.",
    ["pattern", "action"],
    registry=REGISTRY,
)

SUMMARIES = Counter(
    "tenk_context_summaries",
    "Older parts of conversations that were condensed into notes, or left out where no model made any.",
    ["kind"],
    registry=REGISTRY,
)
ESTIMATE_RATIO = Gauge(
    "tenk_context_estimate_ratio",
    "Input tokens of a model's last call as its provider counted them, by our estimate of them.",
    ["model"],
    registry=REGISTRY,
)

LOG_DROPPED = Counter(
    "tenk_log_lines_dropped",
    "Lines that could not be written: the disk is full, or the pipe closed.",
    registry=REGISTRY,
)

HTTP_CUT = Counter(
    "tenk_http_connections_cut",
    "Connections ended by us: made room for another, refused for lack of room.",
    ["why"],
    registry=REGISTRY,
)

M = TypeVar("M", Counter, Gauge, Histogram)

_SERIES: dict[tuple[object, ...], Any] = {}


def series(metric: M, *labels: str) -> M:
    """Return the series of a metric with these labels, cached because each message uses it."""
    key = (metric, *labels)
    bound: M | None = _SERIES.get(key)
    if bound is None:
        bound = _SERIES[key] = metric.labels(*labels)
    return bound


# ---------------------------------------------------------------- the log

MAX_VALUE_CHARS = 20_000
"""Longer values and tracebacks are cut."""

MAX_KEYS = 1000
MAX_KEY_CHARS = 100
"""Maximal length of keys that are remembered as clean."""

_NUMBERS = frozenset((int, float, bool, type(None)))

EventDict = MutableMapping[str, Any]

RECENT: deque[Mapping[str, object]] = deque(maxlen=500)
"""The latest log events, redacted, oldest first, for the console."""


_REDACTORS: list[Redactor] = []
"""The redactor of all log lines, once configured."""


_KEEPERS: list[Callable[[str], None]] = []
"""Called with each event as a line of JSON, beside the stream."""


def keep_lines(keep: Callable[[str], None]) -> None:
    """Call this with each log event from now on, as a line of JSON without secrets."""
    _KEEPERS[:] = [keep]


def learn_secrets(secrets: Iterable[str]) -> None:
    """Redact these secrets from the log, too."""
    for redactor in _REDACTORS:
        redactor.learn(secrets)


def configure(
    redactor: Redactor, *, level: str = "info", as_json: bool | None = None, stream: TextIO | None = None
) -> None:
    """Send our log events and the libraries' warnings to `stream`, redacted. Called once a process.

    `stream=None`: stderr. `as_json=None`: JSON unless the stream is a terminal.
    """
    _REDACTORS[:] = [redactor]
    out = LossyStream(sys.stderr if stream is None else stream)
    plain = out.isatty() if as_json is None else not as_json
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.format_exc_info,
        Cleaner(redactor, one_line=plain),
        structlog.processors.add_log_level,  # these two say nothing of anybody's
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _remember,
    ]
    renderer = _Renderer(
        structlog.dev.ConsoleRenderer(colors=_shows_colours(out), exception_formatter=structlog.dev.plain_traceback)
        if plain
        else None
    )
    out.announce = partial(_render_dropped, (*shared, renderer))
    numeric = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.WriteLoggerFactory(file=out),  # type: ignore[arg-type]  # of a file it uses these two
        cache_logger_on_first_use=True,
    )
    _route_libraries(shared, renderer, out)


@contextmanager
def log_end(event: str, **ids: object) -> Iterator[None]:
    """Bind ids to all events inside; log the duration at the end, unless an error is raised."""
    begun_s = time.monotonic()
    with structlog.contextvars.bound_contextvars(**ids):
        yield
        structlog.get_logger().info(event, duration_s=round(time.monotonic() - begun_s, 3))


WRITE_WAIT_MS = 100
"""Longest total wait for a slow reader of the log; then lines are dropped until it reads again."""


class LossyStream:
    """Text stream that neither raises nor blocks: lines that cannot be written are dropped and counted.

    It bypasses Python's buffer, which would keep a failed line.
    """

    def __init__(self, out: TextIO, announce: Callable[[int], str] = lambda _dropped: "") -> None:
        """Take the function that makes the line about dropped ones."""
        self._out = out
        self.announce = announce
        self._dropped = 0  # since the last written line
        self._is_torn = False  # a line was written in part

    def isatty(self) -> bool:
        """Return True if a terminal shows the lines."""
        return self._out.isatty()

    def write(self, line: str) -> int:
        """Write a whole line, or drop it."""
        try:
            if self._is_torn:
                self._put("\n")
            self._put(line)
            if self._dropped:
                self._put(self.announce(self._dropped))
                self._dropped = 0
        except (OSError, ValueError):  # disk full, no or slow reader, stream closed
            self._dropped += 1
            LOG_DROPPED.inc()
        return len(line)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def _put(self, line: str) -> None:
        try:
            descriptor = self._out.fileno()
        except (OSError, ValueError):  # a stream in memory
            self._out.write(line)
            return
        rest = line.encode(self._out.encoding or "utf-8", self._out.errors or "backslashreplace")
        readiness = select.poll()
        readiness.register(descriptor, select.POLLOUT)
        while rest:
            if not readiness.poll(0 if self._dropped else WRITE_WAIT_MS):
                raise BlockingIOError("who reads the pipe, or the terminal, stands still")
            rest = rest[os.write(descriptor, rest[: select.PIPE_BUF]) :]  # this much does not block once there is room
            self._is_torn = bool(rest)


def _render_dropped(processors: Sequence[structlog.types.Processor], dropped: int) -> str:
    event: Any = {"event": "log_lines_dropped", "lines": dropped}
    for process in processors:
        event = process(None, "error", event)
    return f"{event}\n"


def _shows_colours(out: LossyStream) -> bool:
    """Return True on a terminal with colours, unless NO_COLOR is set (no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _remember(_logger: object, _method: str, event: EventDict) -> EventDict:
    RECENT.append(dict(event))
    return event


class _Renderer:
    """Renderer of an event for the stream, as JSON or for people; what keeps lines gets the JSON."""

    def __init__(self, for_people: structlog.types.Processor | None) -> None:
        self._for_people = for_people
        self._to_json = structlog.processors.JSONRenderer()

    def __call__(self, logger: Any, method: str, event: EventDict) -> Any:
        line = self._to_json(logger, method, event) if _KEEPERS or self._for_people is None else ""
        for keep in _KEEPERS:
            keep(str(line))
        return line if self._for_people is None else self._for_people(logger, method, event)


def _route_libraries(
    shared: list[structlog.types.Processor], renderer: structlog.types.Processor, out: LossyStream
) -> None:
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()  # noqa: TID251  the one place where the libraries' own logging is taken over
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


class Cleaner:
    """Log processor that redacts all values; on a console it also keeps values from forging lines."""

    def __init__(self, redactor: Redactor, *, one_line: bool) -> None:
        """Take the redactor; `one_line` escapes control characters, which a JSON renderer does itself."""
        self._redactor = redactor
        self._one_line = one_line
        self._clean_keys: dict[str, str] = {}  # ten a line, mostly the same: half the cost of logging

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        """Return the event with clean keys and values."""
        clean: EventDict = {}
        for key, value in event.items():
            if key.startswith("_"):
                clean[key] = value
            elif key == "exception":
                clean[key] = self._trace(value)
            else:
                clean[self._key(key)] = value if type(value) in _NUMBERS else self._value(value)
        return clean

    def _key(self, key: str) -> str:
        clean = self._clean_keys.get(key)
        if clean is None:
            clean = self._text(key)
            if len(self._clean_keys) < MAX_KEYS and len(key) <= MAX_KEY_CHARS:
                self._clean_keys[key] = clean
        return clean

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {self._text(str(key)): self._value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(inner) for inner in value]
        return self._text(repr(value))

    def _text(self, text: str) -> str:
        text = self._redact_and_bound(text)
        if self._one_line:
            return escape_controls(text)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

    def _redact_and_bound(self, text: str) -> str:
        """Redact a text and cut it; more is redacted than shown, so that no key is cut in two."""
        if len(text) <= MAX_VALUE_CHARS:
            return self._redactor.redact(text)
        shown = self._redactor.redact(text[: 2 * MAX_VALUE_CHARS])[:MAX_VALUE_CHARS]
        return f"{shown}… ({len(text)} characters)"

    def _trace(self, trace: object) -> str:
        """Indent each line of a traceback, so that none looks like a log line."""
        text = self._redact_and_bound(str(trace))
        if not self._one_line:
            return text.encode("utf-8", "replace").decode()
        return "\n".join(f"    {escape_controls(line)}" for line in text.splitlines())
