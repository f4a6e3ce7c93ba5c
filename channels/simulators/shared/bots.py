"""The people and bots of a platform where a bot is known by its token and everybody has a number."""

from collections.abc import Callable
from typing import Generic, TypeVar

from channels.simulators.shared.history import CallLog

B = TypeVar("B")  # a platform's bot
P = TypeVar("P")  # a platform's person


class BotWorld(CallLog[int], Generic[B, P]):
    """Who is there, and the calls the bots made."""

    def __init__(self, new_person: Callable[[int, str], P]) -> None:
        """`new_person` makes somebody of a number and a name."""
        super().__init__()
        self.bots: dict[str, B] = {}  # by token
        self.people: dict[int, P] = {}
        self._new_person = new_person

    def bot(self, token: str | None = None) -> B:
        """The bot of `token`, or the first one.

        Raises:
            LookupError: there is none yet.
        """
        if token is not None:
            return self.bots[token]
        if not self.bots:
            raise LookupError("no bot yet: add_bot(token) first, or let a bot call in")
        return next(iter(self.bots.values()))

    def person(self, person_id: int) -> P:
        """Somebody by id; a new one is called Person and their number."""
        if person_id not in self.people:
            self.people[person_id] = self._new_person(person_id, f"Person {person_id}")
        return self.people[person_id]
