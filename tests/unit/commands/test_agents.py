"""The choice of an agent: where each answers, and what `/agent` lets people choose."""

from dataclasses import replace

import pytest

from agent.delegation.definitions import AgentDefinition
from agent.permission_rules import Mode
from channels.messages import Address, ChatKind, CommandInvoked, InboundMessage, Route, Sender
from gateway.access.agents import AgentChoice
from gateway.access.policy import AccessSnapshot
from gateway.commands.agents import agent_commands
from gateway.config.settings import Settings
from gateway.definitions import configure_choice
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store import people
from gateway.store.groups import Group
from gateway.store.people import Newcomer, Person
from tests.fakes.invocations import invocation, run
from tests.fakes.people import KEY, NOON, database

DEFINED = [
    AgentDefinition(name=name, description=about, prompt="Help.", mode=mode)
    for name, about, mode in [("finder", "Finds *it*", None), ("host", "Hi", Mode.PLAN), ("root", "All", Mode.BYPASS)]
]
GROUP = Address("sim", "main", "g1")


def choice_of(people: AccessSnapshot, **agent: object) -> AgentChoice:
    choice, settings = AgentChoice("coach", people), Settings.model_validate({"agent": agent})
    configure_choice(choice, settings, "TenK Coach", DEFINED)
    return choice


def person(**agents: str) -> Person:
    chosen = {account.replace("_", ":"): agent for account, agent in agents.items()}
    return Person("u1", "default", "member", "Ana", "en", "UTC", 0, frozenset(), frozenset(), agents=chosen)


def message(kind: ChatKind = ChatKind.DIRECT, account: str = "main") -> InboundMessage:
    return InboundMessage(
        event_id="e1",
        message_id="m1",
        address=Address("sim", account, "g1" if kind is ChatKind.GROUP else "1"),
        sender=Sender("1", "Ana"),
        received_at=NOON,
        kind=kind,
        text="hello",
    )


SET = {"accounts": {"sim:main": "host"}, "groups": {"sim:g1": "finder"}}


@pytest.mark.parametrize(
    ("who", "agent", "expected"),
    [
        (None, {}, "coach"),
        (None, SET, "host"),
        (person(sim_main="finder"), SET, "finder"),
        (person(sim_main="coach"), SET, "coach"),
        (person(sim_other="finder"), SET, "host"),
        (person(sim_main="gone"), SET, "host"),
        (person(sim_main="root"), SET, "host"),  # chosen when its file asked for more
        (replace(person(sim_main="root"), role="operator"), SET, "root"),
        (None, {"accounts": {"sim:main": "gone"}}, "coach"),
    ],
)
def test_a_direct_chat_has_the_agent_of_its_person_then_of_its_account(who, agent, expected) -> None:
    assert expected == choice_of(AccessSnapshot(), **agent).choose(message(), who)


@pytest.mark.parametrize(("chosen", "expected"), [(None, "finder"), ("root", "root"), ("gone", "finder")])
def test_a_group_has_the_agent_that_an_operator_chose_or_its_setting_whoever_writes(chosen, expected) -> None:
    snapshot = AccessSnapshot()
    snapshot.put_group(Group("id", "default", "sim", "main", "g1", agent=chosen))
    choice = choice_of(snapshot, **SET)
    assert expected == choice.choose(message(ChatKind.GROUP), person(sim_main="host"))
    private = CommandInvoked(
        event_id="e2",
        address=GROUP,
        sender=Sender("1", "Ana"),
        received_at=NOON,
        name="agent",
        arguments="",
        kind=ChatKind.GROUP,
        route=Route("interaction", "t", NOON, private=True),
    )
    assert "host" == choice.choose(private, person(sim_main="host"))


def test_without_files_there_is_one_agent_and_no_command() -> None:
    choice = AgentChoice("coach", AccessSnapshot())
    configure_choice(choice, Settings(), "TenK Coach", ())
    assert "coach" == choice.choose(message(), person(sim_main="finder"))
    assert () == agent_commands(choice, AccessSnapshot(), None)


@pytest.mark.parametrize(
    ("role", "arguments", "said"),
    [
        ("member", "", "- **coach**: TenK Coach\n- finder: Finds \\*it\\*\n- host: Hi"),
        ("member", "Finder ", "**finder** answers what you write here"),
        ("member", "root", "There is no agent **root**"),
        ("member", "**x**\n# y", r"There is no agent **\*\*x\*\* \# y**"),
        ("operator", "root", "**root** answers what you write here"),
    ],
)
async def test_an_agent_that_asks_less_is_for_operators(role: str, arguments: str, said: str) -> None:
    with database() as connection:
        known = people.enrol(connection, Newcomer("default", "sim:1", "sim:main", "Ana", role, "cli"), NOON)
        snapshot = AccessSnapshot([known])
        operators = Operators(None, KEY, lambda: NOON, DetachedProcess())
        (command,) = agent_commands(choice_of(snapshot), snapshot, operators)
        asked = invocation("agent", arguments)
        principal = replace(asked.principal, user_id=known.user_id, tenant="default", role=role)
        reply = await run(command, replace(asked, principal=principal), connection)
        assert said in reply.text
        chosen = people.person_of(connection, known.user_id).agents
        name = arguments.strip().lower()
        assert chosen == ({"sim:main": name} if "answers what" in reply.text else {})
        if chosen:
            assert reply.changed.person.agents == chosen
