"""The limits of tool calls by programs: those of a person's messages, counted by key."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gateway.access.config import LimitsConfig
from gateway.access.limits import PersonLimits
from gateway.http.api.problems import ApiRefusal
from gateway.store.api_keys import ApiKey


class CallLimits:
    """The rate and the number of running calls of each key, by the `[access.limits]` of its tenant."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._buckets: dict[str, tuple[LimitsConfig, PersonLimits]] = {}  # by tenant
        self._running: Counter[str] = Counter()  # by key

    @contextmanager
    def seat(self, key: ApiKey, config: LimitsConfig) -> Iterator[None]:
        """Count a call of this key while it runs.

        Raises:
            ApiRefusal: the key makes too many calls.
        """
        held = self._buckets.get(key.tenant)
        if held is None or held[0] != config:  # a reload has changed it
            held = self._buckets[key.tenant] = (config, PersonLimits(config, self._clock_s))
        over = held[1].charge(key.id, self._running[key.id])
        if over is not None:
            wait_s = max(1.0, over.retry_after_s)
            raise ApiRefusal(
                429, "too_many_messages", "this key makes too many calls", f"Wait {wait_s:.0f} s.", retry_after_s=wait_s
            )
        self._running[key.id] += 1
        try:
            yield
        finally:
            self._running[key.id] -= 1
            if not self._running[key.id]:
                del self._running[key.id]
