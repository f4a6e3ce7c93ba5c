"""Search for the person an operator means: by name, sender, or the number that lists show."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gateway.operators.actions import LEAST_NUMBER_CHARS, OperationRefused
from gateway.safety.names import shown_name
from gateway.store.people import Person
from gateway.store.reports import KnownSender
from gateway.store.tickets import Ticket

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MOST_LISTED = 10
MOST_NEAR = 3
NEAR = 0.5  # of difflib: from what likeness on a name is suggested


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T_co]):
    """A person, or a request for access, and all that names it."""

    value: T_co
    name: str
    senders: tuple[str, ...]  # canonical: telegram:42
    number: str  # id of a user or request; "": it has none

    @property
    def shown(self) -> str:
        """Return the name, senders and number for an operator who has to choose."""
        number = f", {self.number[-8:]}" if self.number else ""
        return f"{shown_name(self.name)} ({', '.join(self.senders)}{number})"


def of_person(person: Person) -> Candidate[Person]:
    return Candidate(person, person.display_name, tuple(sorted(person.identities)), person.user_id)


def of_request(asked: Ticket) -> Candidate[Ticket]:
    return Candidate(asked, asked.display_name, (asked.sender,), asked.id)


def of_sender(known: KnownSender) -> Candidate[KnownSender]:
    return Candidate(known, known.name, known.senders, known.user_id or "")


def find_listed(who: str, users: Iterable[Mapping[str, Any]]) -> str:
    """Return the id of the user that `who` means, among the users that `GET /v1/users` lists.

    Raises:
        OperationRefused: nothing fits, or several do.
    """
    return find_one(
        who, [Candidate(str(each["user"]), each["name"], tuple(each["senders"]), each["user"]) for each in users]
    )


def find_one(who: str, candidates: Iterable[Candidate[T]], *, by_part: bool = False) -> T:
    """Return what this sender (`telegram:42`, `42`), number, end of a number or name means.

    Args:
        who: as the operator typed it; case and a leading @ of a name do not matter.
        candidates: all that it may mean.
        by_part: a part of a name suffices, where nothing is changed.

    Raises:
        OperationRefused: nothing fits (the text suggests similar names), or several do (it lists them).
    """
    known = list(candidates)
    found = find_if_any(who, known, by_part=by_part)
    if found is None:
        raise _no_person(who, who.strip().casefold().removeprefix("@"), known)
    return found


def find_if_any(who: str, candidates: Iterable[Candidate[T]], *, by_part: bool = False) -> T | None:
    """Return what `who` means, as `find_one`; None if nothing fits.

    Raises:
        OperationRefused: several fit; the text lists them.
    """
    wanted, known = who.strip().casefold(), list(candidates)
    name = wanted.removeprefix("@")
    is_long = len(wanted) >= LEAST_NUMBER_CHARS
    tests: tuple[Callable[[Candidate[T]], bool], ...] = (
        lambda each: wanted in (*(sender.casefold() for sender in each.senders), each.number),
        lambda each: wanted in (sender.rpartition(":")[2].casefold() for sender in each.senders),
        lambda each: is_long and each.number.endswith(wanted),
        lambda each: name == each.name.casefold(),
        lambda each: by_part and is_long and name in each.name.casefold(),
    )
    for fits in tests:
        found = [each for each in known if wanted and fits(each)]
        if len(found) == 1:
            return found[0].value
        if found:
            several = ", ".join(each.shown for each in found[:MOST_LISTED])
            raise OperationRefused("access.several_fit", who=who, several=several)
    return None


def _no_person(who: str, name: str, known: Sequence[Candidate[T]]) -> OperationRefused:
    names = {word.casefold(): each for each in known for word in (each.name, *each.senders)}
    near = difflib.get_close_matches(name, names, n=MOST_NEAR, cutoff=NEAR)
    if not near:
        return OperationRefused("access.no_person", who=who)
    return OperationRefused("access.no_person_but", who=who, near=", ".join(names[word].shown for word in near))
