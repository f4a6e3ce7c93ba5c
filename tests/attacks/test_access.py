"""Attacks on access, A23 to A33, and hostile names."""

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from channels.messages import ChatKind
from gateway.access import pairing
from gateway.access.config import AccessConfig
from gateway.access.pairing import TellCode
from gateway.access.policy import AccessSnapshot, Admit, Pair, Refuse, Silence, decide
from gateway.store import people
from gateway.store.people import Newcomer, Person
from tests.fakes.people import NOON, database, message

OWNER = Person(
    user_id="u-owner",
    tenant="default",
    role="owner",
    display_name="Ana",
    locale=None,
    timezone="UTC",
    week_start=0,
    identities=frozenset({"telegram:123", "slack:T1:U9"}),
    grants=frozenset({"telegram:main", "slack:main"}),
)
KNOWN = AccessSnapshot([OWNER])
LISTED = AccessConfig.model_validate(
    {"direct": "allowlist", "accounts": {"telegram:main": {"allow": ["telegram:123"]}}}
)
NEAR_123 = [
    "0123",
    "123 ",
    " 123",
    "12",
    "1234",
    "123.0",
    "+123",
    "-123",
    "١٢٣",
    "１２３",
    "123\x00",
    "123\u200b",
    "*",
    "telegram:123",
]


def test_a23_an_unknown_direct_message_can_only_lead_to_pairing() -> None:
    decision = decide(KNOWN, AccessConfig(), message("7"))
    assert Pair() == decision
    assert not hasattr(decision, "principal")


def test_a24_an_unknown_person_in_a_group_gets_silence() -> None:
    config = AccessConfig.model_validate({"accounts": {"telegram:main": {"allow_groups": ["telegram:-1"]}}})
    for chat in ("-1", "-2"):
        assert isinstance(decide(KNOWN, config, message("7", kind=ChatKind.GROUP, chat=chat)), Silence)


def test_a25_an_empty_allowlist_denies_everybody() -> None:
    config = AccessConfig.model_validate({"direct": "allowlist", "accounts": {"telegram:main": {"allow": []}}})
    for sender in ("123", "7"):
        assert Silence("not on the allowlist") == decide(KNOWN, config, message(sender))


@pytest.mark.parametrize("name", ["Ana", "@ana", "telegram:123", "owner", "admin", "123"])
def test_a27_a_name_opens_nothing(name: str) -> None:
    assert Pair() == decide(KNOWN, AccessConfig(), message("7", name=name))
    assert Silence("not on the allowlist") == decide(KNOWN, LISTED, message("7", name=name))


@pytest.mark.parametrize("sender", NEAR_123)
def test_a28_an_id_that_is_nearly_the_owners_is_a_strangers(sender: str) -> None:
    assert Pair() == decide(KNOWN, AccessConfig(), message(sender))
    assert Silence("not on the allowlist") == decide(KNOWN, LISTED, message(sender))


@given(st.text(min_size=1, max_size=8).filter(lambda sender: sender != "123"))
def test_a28_no_other_id_is_the_owners(sender: str) -> None:
    assert not isinstance(decide(KNOWN, AccessConfig(), message(sender)), Admit)


@pytest.mark.parametrize("sender", NEAR_123)
def test_a28_the_database_tells_them_apart_as_well(sender: str) -> None:
    with database() as connection:
        people.enrol(connection, Newcomer("default", "telegram:123", "telegram:main", "Ana", "owner", "cli"), NOON)
        assert None is people.find_sender(connection, "default", f"telegram:{sender}")


def test_a29_a_bot_with_the_owners_id_is_a_bot() -> None:
    assert Refuse("sent by a bot") == decide(KNOWN, AccessConfig(), message("123", is_bot=True))


@pytest.mark.parametrize("sender", ["T2:U9", "U9", "T1:U8", ":U9", "T1:T1:U9"])
def test_a30_the_same_user_id_of_another_team_is_a_stranger(sender: str) -> None:
    assert isinstance(decide(KNOWN, AccessConfig(), message("T1:U9", channel="slack")), Admit)
    assert Pair() == decide(KNOWN, AccessConfig(), message(sender, channel="slack"))


def test_a30_team_and_user_survive_the_database() -> None:
    with database() as connection:
        made = people.enrol(connection, Newcomer("default", "slack:T1:U9", "slack:main", "Ana", "member", "cli"), NOON)
        assert frozenset({"slack:T1:U9"}) == made.identities
        assert (made, None, None) == (
            people.find_sender(connection, "default", "slack:T1:U9"),
            people.find_sender(connection, "default", "slack:T2:U9"),
            people.find_sender(connection, "default", "slack:U9"),
        )


HOSTILE = [
    "'; DROP TABLE users; --",
    '" OR ""="',
    "Robert'); DELETE FROM users WHERE ('1'='1",
    "%",
    "_",
    "\\",
    "$1",
    ":name",
    "?",
    "{0}",
    "\x1b[2Jx",
    "a\n2026 INFO approved",
    "\x00",
    "\ud800",
    "\u202eowner",
    "x" * 5000,
    ":name",
    "a:",
    "::",
    "a:b:c",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a50_a90_a91_hostile_names_are_names(text: str) -> None:
    """Cover A67."""
    with database() as connection:
        outcome = pairing.request(connection, message("42", name=text, locale=text), NOON)
        assert isinstance(outcome, TellCode)
        shown = outcome.request.display_name
        assert shown == people.shown_name(text)
        assert len(shown) <= 128
        assert shown.isprintable()
        approved = pairing.approve_request(connection, outcome.request.id, "cli", NOON)
        assert isinstance(approved, pairing.Approved)
        assert 1 == connection.execute(sa.text("SELECT count(*) FROM users")).scalar()
        assert approved.person == people.find_sender(connection, "default", "telegram:42")


@pytest.mark.parametrize("sender", [hostile for hostile in HOSTILE if hostile.isprintable() and len(hostile) < 100])
def test_a50_hostile_ids_are_ids(sender: str) -> None:
    with database() as connection:
        people.enrol(connection, Newcomer("default", f"telegram:{sender}", "telegram:main", "x", "member", "cli"), NOON)
        known = people.everybody(connection)
        assert [frozenset({f"telegram:{sender}"})] == [person.identities for person in known]
        assert None is people.find_sender(connection, "default", "telegram:42")
