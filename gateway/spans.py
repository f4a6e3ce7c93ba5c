"""OpenTelemetry spans of turns, models and tools, by the GenAI conventions; off unless `[gateway] traces` is set.

The API alone is imported, and only then. Where spans go is the matter of an SDK that the environment configures
(OTEL_TRACES_EXPORTER and the like). What people and models say is in none of them.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from gateway.errors import SettingsError

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

Attributes = Mapping[str, str | int | float | tuple[str, ...]]

NAME = "tenk.gateway"
CONFIGURATORS = "opentelemetry_configurator"
"""The entry points by which an SDK says how it is set up from the environment."""

_tracers: "list[Tracer]" = []  # one while spans are recorded


def record_spans(provider: "TracerProvider | None" = None) -> None:
    """Record spans from now on; None: with the provider of the environment.

    Raises:
        SettingsError: the API is not installed.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415  an optional extra, and nobody's unless it is wanted
    except ImportError:
        raise SettingsError("gateway.traces: spans need the extra: pip install 'tenk-gateway[otel]'") from None
    if provider is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        for configurator in entry_points(group=CONFIGURATORS, name="configurator"):
            configurator.load()().configure()
    _tracers[:] = [trace.get_tracer(NAME, tracer_provider=provider)]


def stop_recording() -> None:
    """Record none from now on."""
    _tracers.clear()


def span(name: str, attributes: Attributes, *, client: bool = False) -> "AbstractContextManager[Span | None]":
    """What happens within is a span of its own, child of the one around it; None where none are recorded.

    An error that leaves it is noted by its type alone: its words may be anybody's.
    """
    return _record_span(name, attributes, client=client) if _tracers else nullcontext()


@contextmanager
def _record_span(name: str, attributes: Attributes, *, client: bool) -> "Iterator[Span]":
    from opentelemetry.trace import SpanKind, StatusCode  # noqa: PLC0415  as above

    kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
    begun = _tracers[0].start_as_current_span(
        name, kind=kind, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    )
    with begun as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute("error.type", str(getattr(error, "kind", type(error).__name__)))
            current.set_status(StatusCode.ERROR)
            raise


def trace_id_of(current: "Span | None") -> dict[str, str]:
    """What log lines name the trace by; nothing where none is recorded."""
    return {} if current is None else {"trace_id": f"{current.get_span_context().trace_id:032x}"}


def note_attributes(attributes: Attributes) -> None:
    """Add to the span that this happens in."""
    if _tracers:
        from opentelemetry.trace import get_current_span  # noqa: PLC0415  as above

        get_current_span().set_attributes(dict(attributes))


def note_past(name: str, took_s: float, attributes: Attributes, error: str = "") -> None:
    """A span of what has just ended."""
    if not _tracers:
        return
    from opentelemetry.trace import StatusCode  # noqa: PLC0415  as above

    now_ns = time.time_ns()
    past = _tracers[0].start_span(name, attributes=dict(attributes), start_time=now_ns - round(took_s * 1e9))
    if error:
        past.set_attribute("error.type", error)
        past.set_status(StatusCode.ERROR)
    past.end(now_ns)
