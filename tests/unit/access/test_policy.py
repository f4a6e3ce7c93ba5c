"""The decision about an event, made from memory."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from channels.messages import (
    Address,
    ButtonPressed,
    ChatKind,
    ChatMigrated,
    CommandInvoked,
    InboundMessage,
    Membership,
    MembershipChanged,
    Sender,
)
from gateway.access.config import AccessConfig
from gateway.access.policy import (
    AccessSnapshot,
    Admit,
    AskGroup,
    Decision,
    Enrol,
    Pair,
    Refuse,
    Silence,
    decide,
    is_let_in,
)
from gateway.store.groups import Group
from gateway.store.people import BY_POLICY, Newcomer, Person
from tests.fakes.people import message

ANA = Person(
    user_id="u-ana",
    tenant="default",
    role="member",
    display_name="Ana",
    locale="es",
    timezone="Europe/Madrid",
    week_start=0,
    identities=frozenset({"telegram:42"}),
    grants=frozenset({"telegram:main"}),
)
UNGRANTED = replace(ANA, grants=frozenset(), policy_grants=frozenset({"telegram:main"}))
GROUP = "-100"
OPEN = AccessConfig.model_validate({"direct": "open"})
LISTED = AccessConfig.model_validate({"direct": "allowlist", "accounts": {"telegram:main": {"allow": ["telegram:42"]}}})


def groups(policy: str) -> AccessConfig:
    return AccessConfig.model_validate(
        {
            "groups": policy,
            "accounts": {"telegram:main": {"allow_groups": [f"telegram:{GROUP}"], "allow": ["telegram:7"]}},
        }
    )


def decided(event: InboundMessage, *people: Person, config: AccessConfig | None = None) -> Decision:
    return decide(AccessSnapshot(people), config or AccessConfig(), event)


def by_policy(sender_key: str) -> Enrol:
    """Let in as a member by the configuration."""
    return Enrol(Newcomer("default", sender_key, "telegram:main", "Ana", "member", BY_POLICY))


def test_a_paired_person_is_admitted_as_who_they_are() -> None:
    decision = decided(message("42"), ANA)
    assert Admit(ANA) == decision
    assert isinstance(decision, Admit)
    assert ("u-ana", "Europe/Madrid", "es") == (
        decision.principal.user_id,
        decision.principal.timezone,
        decision.principal.locale,
    )


def test_an_unknown_direct_message_leads_to_pairing() -> None:
    """Cover A23."""
    assert Pair() == decided(message("7"), ANA)


def test_an_edit_by_a_stranger_is_not_answered() -> None:
    assert Silence("edited by a stranger") == decided(message("7", edited=True))


def test_being_let_into_one_account_is_not_being_let_into_another() -> None:
    assert Pair() == decided(message("42", account="second"), ANA)


def test_an_open_account_makes_every_writer_a_member() -> None:
    assert by_policy("telegram:7") == decided(message("7"), config=OPEN)
    assert Admit(UNGRANTED) == decided(message("42"), UNGRANTED, config=OPEN)


def test_a_bot_that_is_closed_again_asks_who_came_by_policy_to_pair() -> None:
    assert Pair() == decided(message("42"), UNGRANTED)
    assert Silence("not on the allowlist") == decided(
        message("42"), UNGRANTED, config=AccessConfig.model_validate({"direct": "allowlist"})
    )


def test_only_a_listed_person_is_let_in() -> None:
    assert by_policy("telegram:42") == decided(message("42"), config=LISTED)
    ben = replace(ANA, user_id="u-ben", identities=frozenset({"telegram:7"}))
    assert Silence("not on the allowlist") == decided(message("7"), ben, config=LISTED)


@pytest.mark.parametrize("config", [AccessConfig(), OPEN, LISTED])
def test_the_blocked_get_silence_under_every_policy(config: AccessConfig) -> None:
    assert Silence("blocked") == decided(message("42"), replace(ANA, role="blocked"), config=config)


@pytest.mark.parametrize("config", [AccessConfig(), OPEN, LISTED])
def test_bots_and_missing_senders_are_refused_under_every_policy(config: AccessConfig) -> None:
    """Cover A29."""
    assert Refuse("sent by a bot") == decided(message("42", is_bot=True), ANA, config=config)
    assert Refuse("without a sender") == decided(message(""), ANA, config=config)


@pytest.mark.parametrize("policy", ["pairing", "allowlist", "open"])
def test_a_group_that_is_not_allowed_gets_silence(policy: str) -> None:
    event = message("42", kind=ChatKind.GROUP, chat="-999")
    assert Silence("group not allowed") == decided(event, ANA, config=groups(policy))


@pytest.mark.parametrize(
    ("policy", "sender", "decision"),
    [
        ("pairing", "42", Admit(ANA)),
        ("pairing", "8", Silence("not let in")),
        ("allowlist", "7", by_policy("telegram:7")),
        ("allowlist", "42", Silence("not let in")),
        ("open", "8", by_policy("telegram:8")),
    ],
)
def test_inside_an_allowed_group_the_policy_decides(policy: str, sender: str, decision: Decision) -> None:
    """Cover A24."""
    event = message(sender, kind=ChatKind.GROUP, chat=GROUP)
    assert decision == decided(event, ANA, config=groups(policy))


def press(sender: str) -> ButtonPressed:
    return ButtonPressed(
        event_id="cb:1",
        address=Address("telegram", "main", sender),
        sender=Sender(sender, "Ana"),
        received_at=datetime(2026, 3, 2, tzinfo=UTC),
        message_id="1",
        kind=ChatKind.DIRECT,
        data="approve",
    )


def test_a_button_is_taken_from_people_who_are_in() -> None:
    """Cover A34."""
    snapshot = AccessSnapshot([ANA])
    assert Admit(ANA) == decide(snapshot, AccessConfig(), press("42"))
    assert Silence("not let in") == decide(snapshot, AccessConfig(), press("7"))
    assert Silence("not let in") == decide(snapshot, OPEN, press("7"))


def test_news_about_a_chat_is_no_request() -> None:
    about = {"event_id": "m:1", "address": Address("telegram", "main", "-5"), "sender": Sender("7", "Ben")}
    at = datetime(2026, 3, 2, tzinfo=UTC)
    added = MembershipChanged(**about, received_at=at, change=Membership.ADDED)  # type: ignore[arg-type]  # one table
    moved = ChatMigrated(**about, received_at=at, new_chat="-6")  # type: ignore[arg-type]  # for both events
    assert [Silence("about the chat")] * 2 == [
        decide(AccessSnapshot(), AccessConfig(), event) for event in (added, moved)
    ]


def test_a33_a_person_blocked_mid_turn_has_no_principal() -> None:
    snapshot = AccessSnapshot([ANA])
    before = snapshot.principal("u-ana")
    snapshot.put(replace(ANA, role="blocked"))
    assert ("u-ana", None, None) == (
        before.user_id if before else None,
        snapshot.principal("u-ana"),
        snapshot.principal("u-nobody"),
    )


def test_a_snapshot_follows_identities_that_move_and_people_who_go() -> None:
    snapshot = AccessSnapshot([ANA])
    snapshot.put(replace(ANA, identities=frozenset({"telegram:43"})))
    assert (None, "u-ana") == (
        snapshot.find("default", "telegram:42"),
        (snapshot.find("default", "telegram:43") or UNGRANTED).user_id,
    )
    snapshot.drop("u-ana")
    assert (0, None) == (len(snapshot), snapshot.find("default", "telegram:43"))


def test_one_tenants_people_are_strangers_to_another() -> None:
    assert Pair() == decided(message("42", tenant="other"), ANA)


@pytest.mark.parametrize(
    ("person", "config", "let_in"),
    [
        (ANA, AccessConfig(), True),
        (UNGRANTED, OPEN, False),
        (UNGRANTED, AccessConfig(), False),
        (UNGRANTED, LISTED, True),
        (None, LISTED, True),
        (None, OPEN, False),
        (replace(UNGRANTED, role="owner"), AccessConfig(), True),
        (replace(ANA, role="blocked"), LISTED, False),
    ],
)
def test_only_a_decision_lets_a_person_in(person: Person | None, config: AccessConfig, let_in: bool) -> None:
    snapshot = AccessSnapshot([] if person is None else [person])
    rules = config.rules_of("telegram", "main")
    assert let_in == is_let_in(snapshot, rules, "default", "telegram:42", "telegram:main")


def test_an_unlisted_group_is_offered_to_operators_alone_and_holds_where_it_moves() -> None:
    """Cover A24, A31."""
    roles = {"1": "owner", "2": "operator", "3": "member"}
    known = [
        replace(ANA, user_id=f"u{id_}", role=role, identities=frozenset({f"telegram:{id_}"}))
        for id_, role in roles.items()
    ]
    snapshot, rules = AccessSnapshot(known), AccessConfig()

    def meets(sender: str, chat: str = "-5", *, mentions: bool = True, edited: bool = False) -> type:
        said = message(sender, kind=ChatKind.GROUP, chat=chat, edited=edited)
        return type(decide(snapshot, rules, replace(said, mentions_bot=mentions)))

    assert [AskGroup, AskGroup, Silence, Silence] == [meets(sender) for sender in "1239"]
    assert [Silence, Silence] == [meets("1", mentions=False), meets("1", edited=True)]
    snapshot.put_group(Group("g", "default", "telegram", "main", "-5", allowed=True))
    assert [Admit, Admit, Admit, Silence] == [meets(sender) for sender in "1239"]
    assert AskGroup is meets("1", "-1005")
    snapshot.chat_moved("telegram", "-5", "-1005")
    assert Admit is meets("3", "-1005")
    snapshot.put_group(Group("g", "default", "telegram", "main", "-5", allowed=False))
    assert Silence is meets("3", "-1005")


@pytest.mark.parametrize(
    ("role", "text", "decision"),
    [
        ("operator", "/group on", Admit),
        ("operator", " /GROUP  On", Admit),
        ("operator", "/group", AskGroup),
        ("operator", "/group once more", AskGroup),
        ("member", "/group on", Silence),
    ],
)
def test_an_operator_allows_a_group_by_a_command(role: str, text: str, decision: type) -> None:
    snapshot = AccessSnapshot([replace(ANA, role=role, identities=frozenset({"telegram:1"}))])
    said = replace(message("1", kind=ChatKind.GROUP, chat="-5"), mentions_bot=True)
    assert decision is type(decide(snapshot, AccessConfig(), replace(said, text=text)))
    name, _, arguments = text.strip().lower().removeprefix("/").partition(" ")
    invoked = CommandInvoked(
        event_id="c",
        address=said.address,
        sender=said.sender,
        received_at=said.received_at,
        name=name,
        arguments=arguments,
        kind=said.kind,
    )
    assert decision is type(decide(snapshot, AccessConfig(), invoked))


def test_a_withdrawn_policy_takes_commands_away() -> None:
    """Cover A33."""
    snapshot = AccessSnapshot([replace(ANA, grants=frozenset({"telegram:main", "slack:main"}))])
    snapshot.put(replace(ANA, grants=frozenset({"slack:main"})))
    may = [snapshot.may_command("u-ana", account) for account in ("telegram:main", "slack:main", "api:main")]
    assert [False, True, False] == may
    restarted = AccessSnapshot([replace(ANA, grants=frozenset({"slack:main"}))])
    assert [False, True] == [restarted.may_command("u-ana", account) for account in ("telegram:main", "slack:main")]
    snapshot.put(replace(ANA, role="operator", grants=frozenset({"slack:main"})))
    assert snapshot.may_command("u-ana", "telegram:main")
    snapshot.put(ANA)
    assert snapshot.may_command("u-ana", "telegram:main")
    snapshot.put(replace(ANA, role="blocked"))
    assert not snapshot.may_command("u-ana", "telegram:main")
    assert not snapshot.may_command("nobody", "telegram:main")


def test_whom_the_configuration_let_in_it_lets_in_as_it_is_now() -> None:
    """Cover A33."""
    snapshot = AccessSnapshot([UNGRANTED, replace(ANA, user_id="u-bea", identities=frozenset({"telegram:7"}))])
    for rules, expected in ((LISTED, True), (OPEN, True), (groups("open"), True), (AccessConfig(), False)):
        snapshot.configure("default", rules)
        assert [expected, True] == [snapshot.may_command(user, "telegram:main") for user in ("u-ana", "u-bea")]


def test_a_linked_person_counts_as_the_other_until_unlinked() -> None:
    bea = replace(ANA, user_id="u-bea", identities=frozenset({"slack:T1:U1"}), grants=frozenset({"slack:main"}))
    snapshot = AccessSnapshot([ANA, bea])
    both = replace(ANA, identities=ANA.identities | bea.identities, grants=ANA.grants | bea.grants)
    both = replace(both, aliases=frozenset({"u-bea"}))
    snapshot.put(both)
    assert both == snapshot.find("default", "slack:T1:U1") == snapshot.person("u-bea")
    assert "u-ana" == getattr(snapshot.principal("u-bea"), "user_id", None)
    assert 1 == len(snapshot)
    assert 1 == len(AccessSnapshot([both]))
    for person in (ANA, bea):
        snapshot.put(person)
    assert (bea, bea, 2) == (snapshot.find("default", "slack:T1:U1"), snapshot.person("u-bea"), len(snapshot))
    assert not snapshot.may_command("u-ana", "slack:main")
