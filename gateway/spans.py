"""OpenTelemetry spans of turns, models and tools, by the GenAI conventions; off unless `[gateway] traces` is set.

Only the API is imported, and only if needed; an SDK configured by the environment exports the spans
(OTEL_TRACES_EXPORTER and others). No span contains texts of people or models.
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
"""Entry points by which an SDK is configured from the environment."""

_tracers: "list[Tracer]" = []  # one while spans are recorded


def record_spans(provider: "TracerProvider | None" = None) -> None:
    """Start recording spans; None: with the provider of the environment.

    Raises:
        SettingsError: the API is not installed.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415  an optional extra
    except ImportError:
        raise SettingsError("gateway.traces: spans need the extra: pip install 'tenk-gateway[otel]'") from None
    if provider is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        for configurator in entry_points(group=CONFIGURATORS, name="configurator"):
            configurator.load()().configure()
    _tracers[:] = [trace.get_tracer(NAME, tracer_provider=provider)]


def stop_recording() -> None:
    """Stop recording spans."""
    _tracers.clear()


def span(name: str, attributes: Attributes, *, client: bool = False) -> "AbstractContextManager[Span | None]":
    """Open a span as a child of the current one; yield None if spans are off.

    An error is recorded by its type only, because its message may be private.
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
    """Return the trace id for log lines; empty if spans are off."""
    return {} if current is None else {"trace_id": f"{current.get_span_context().trace_id:032x}"}


def note_attributes(attributes: Attributes) -> None:
    """Add attributes to the current span."""
    if _tracers:
        from opentelemetry.trace import get_current_span  # noqa: PLC0415  as above

        get_current_span().set_attributes(dict(attributes))


def note_past(name: str, took_s: float, attributes: Attributes, error: str = "") -> None:
    """Record a span of something that has just ended."""
    if not _tracers:
        return
    from opentelemetry.trace import StatusCode  # noqa: PLC0415  as above

    now_ns = time.time_ns()
    past = _tracers[0].start_span(name, attributes=dict(attributes), start_time=now_ns - round(took_s * 1e9))
    if error:
        past.set_attribute("error.type", error)
        past.set_status(StatusCode.ERROR)
    past.end(now_ns)
