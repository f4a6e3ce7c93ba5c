"""`/permissions`: who may set what, and how it is taken back."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from agent.permission_rules import Mode, Source, Verdict, parse_rule
from agent.ports import Principal
from gateway.access.api_keys import Scope
from gateway.commands.base import Invocation
from gateway.commands.permissions import PERMISSIONS
from gateway.store import journal, session_rules
from gateway.store.session_rules import MOST_RULES, SessionRule
from tests.fakes.invocations import KEY, FakeSession, invocation, run
from tests.fakes.people import database
from tests.fakes.practice_reader import ANA, NOW, add_people

OWNER, OPERATOR = replace(ANA, role="owner"), replace(ANA, role="operator")


class Chat:
    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        add_people(connection, ANA)
        self.session = FakeSession(journal.open_session(connection, ANA.tenant, KEY, "steer", 1, NOW))

    def asked(self, words: str, who: Principal = ANA) -> Invocation:
        self.session.state = self.state()
        return invocation("permissions", words, who, self.session, store=self.connection)

    async def say(self, words: str, who: Principal = ANA) -> str:
        return (await run(PERMISSIONS, self.asked(words, who), self.connection)).text

    def state(self) -> journal.SessionState:
        state = journal.load_session(self.connection, ANA.tenant, KEY, 1)
        assert state is not None
        return state

    def rules(self) -> list[str]:
        found = session_rules.find(self.connection, self.state().id, ANA.user_id)
        return [f"{rule.verdict.value} {rule.rule}" for rule in found]


@pytest.fixture
def chat() -> Iterator[Chat]:
    with database() as connection:
        yield Chat(connection)


@pytest.mark.parametrize("mode", Mode)
async def test_only_an_owner_sets_a_mode(chat: Chat, mode: Mode):
    for who in (ANA, OPERATOR):
        assert "is for owners" in await chat.say(mode.value, who)
    by_key = replace(chat.asked(mode.value, OWNER), scopes=frozenset({Scope.CHAT}))
    assert "is for owners" in (await run(PERMISSIONS, by_key, chat.connection)).text
    assert chat.state().permission_mode is None
    assert f"(mode {mode.value})" in await chat.say(mode.value.upper(), OWNER)
    assert f"(mode {mode.value})" in await chat.say("")
    assert (None if mode is Mode.DEFAULT else mode) is chat.state().permission_mode


async def test_a_mode_outlives_new_and_rules_do_not(chat: Chat):
    await chat.say("plan", OWNER)
    await chat.say("deny pay")
    journal.open_session(chat.connection, ANA.tenant, KEY, "steer", 2, NOW)
    assert (Mode.PLAN, []) == (chat.state().permission_mode, chat.rules())


async def test_the_newest_verdict_about_the_same_holds(chat: Chat):
    for words in ("allow pay(to=acme*)", "deny pay", "ask pay(to=acme*)", "DENY  mcp__*"):
        await chat.say(words)
    assert ["deny mcp__*", "deny pay", "ask pay(to=acme*)"] == sorted(chat.rules(), key=lambda rule: rule[4:])
    assert "Taken back" in await chat.say("pay")
    assert "Taken back" in await chat.say("all")
    assert [] == chat.rules()


@pytest.mark.parametrize("words", ["0", "2", "99", "1000", "1.", "²", "rm -rf", "allow", "pay"])
async def test_what_is_no_rule_of_theirs_is_not_taken_back(chat: Chat, words: str):
    await chat.say("deny order")
    assert "You have no rule" in await chat.say(words)
    assert ["deny order"] == chat.rules()


@pytest.mark.parametrize("words", ["pay(", "pay(to)", "pay me", "x" * 129, f"pay(to={'*a' * 129})", "pay(a=b)(c=d)"])
async def test_what_is_no_rule_is_refused(chat: Chat, words: str):
    assert "is not a rule" in await chat.say(f"allow {words}")
    assert [] == chat.rules()


async def test_rules_are_bounded_and_a_denied_call_replaces_the_oldest_one(chat: Chat):
    for number in range(MOST_RULES - 1):
        await chat.say(f"deny tool_{number}_*")
    denied = SessionRule(
        tenant=ANA.tenant,
        session_id=chat.state().id,
        user_id=ANA.user_id,
        verdict=Verdict.DENY,
        rule="pay",
        fingerprint="0",
        since=NOW,
    )
    for number in range(3):
        later = replace(denied, fingerprint=str(number), since=NOW + timedelta(seconds=number))
        assert session_rules.put(chat.connection, later)
    assert "You have 50 rules" in await chat.say("deny fur*")
    assert MOST_RULES == len(chat.rules())
    rules = session_rules.of_session(chat.connection, denied.session_id)[ANA.user_id]
    assert ["2"] == [rule.fingerprint for rule in rules if rule.fingerprint]


async def test_a_turn_reads_the_rules_as_they_were_set(chat: Chat):
    await chat.say("allow order(name=tea*)")
    read = session_rules.of_session(chat.connection, chat.state().id)
    assert {ANA.user_id: (parse_rule("order(name=tea*)", Verdict.ALLOW, Source.SESSION),)} == read


async def test_a_rule_names_a_tool_of_the_agent_or_a_pattern(chat: Chat) -> None:
    assert "Did you mean `order`?" in await chat.say("ask oder")
    assert "I have no tool zzz." in await chat.say("deny zzz")
    assert [] == chat.rules()
    for rule in ("pay(to=acme)", "mcp__plain__echo", "read_*"):
        assert "From your next message on" in await chat.say(f"deny {rule}")


async def test_an_owner_reads_which_modes_there_are(chat: Chat) -> None:
    assert "Modes" not in await chat.say("")
    assert "Modes: `default`, `plan`, `bypass`, `auto`." in await chat.say("", OWNER)
