"""A platform's refusal of a call, and each platform's table of refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown


class ApiRefusal(Exception):
    """A platform refused a call."""

    def __init__(
        self,
        status: int,
        code: str,
        words: str,
        *,
        retry_after_s: float | None = None,
        moved_to: str | None = None,
        needed: str = "",
    ) -> None:
        """`code` is the platform's own, `words` are safe to show an operator.

        `moved_to` is the id of the chat that replaces this one, `needed` the permission that the token lacks.
        """
        super().__init__(words if status == 200 else f"{status} {words}")
        self.status = status
        self.code = code
        self.words = words
        self.retry_after_s = retry_after_s
        self.moved_to = moved_to
        self.needed = needed


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalTable:
    """The classification of one platform's refusals by code or HTTP status."""

    kinds: Mapping[str, PermanentKind]
    status_kinds: Mapping[int, PermanentKind] = field(default_factory=dict)  # go before `kinds`
    later: frozenset[str] = frozenset()  # rate limits, like status 429
    later_statuses: frozenset[int] = frozenset()  # a refused token: retry until the operator replaces it
    unsure: frozenset[str] = frozenset()  # may have happened, like status 500 and above

    def to_channel_error(self, refusal: ApiRefusal) -> ChannelError:
        """Classify a refusal for the sender."""
        status, code = refusal.status, refusal.code
        if status == 429 or code in self.later:
            return Retryable(refusal.words, retry_after_s=refusal.retry_after_s)
        if status in self.later_statuses:
            return Retryable(str(refusal))
        if status >= 500 or code in self.unsure:
            return Unknown(str(refusal))
        if refusal.moved_to is not None:
            return Permanent(refusal.words, PermanentKind.MOVED, moved_to=refusal.moved_to)
        kind = self.status_kinds.get(status) or self.kinds.get(code, PermanentKind.REJECTED)
        return Permanent(refusal.words, kind)
