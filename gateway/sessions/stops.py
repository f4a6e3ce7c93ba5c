"""Which turns were told to stop, by the place of the message they answer: also those that have not begun yet. Pure."""


class Stops:
    """Up to which message everything stops, for one person or for everybody."""

    def __init__(self) -> None:
        self._before: dict[str | None, int] = {}

    def add(self, before_id: int, user_id: str | None) -> None:
        """Stop what answers a message before this one, of one person; None: of everybody."""
        self._before[user_id] = max(before_id, self._before.get(user_id, 0))

    def cover(self, first_id: int, user_id: str) -> bool:
        """Whether the turn that answers this message of this person is to stop."""
        return first_id < max(self._before.get(None, 0), self._before.get(user_id, 0))
