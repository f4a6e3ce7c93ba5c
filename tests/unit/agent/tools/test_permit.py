"""Permission of a call: rules, the tool, the product, a small model, and a person who is asked."""

import asyncio
import json
from contextlib import suppress

import pytest
from pydantic import BaseModel

from agent.consent import Consent, Parked, TurnParked
from agent.errors import FailureKind
from agent.journal import open_calls
from agent.permission_rules import Mode, Source, Verdict, parse_rule
from agent.permissions.chain import AutoConfig, Confirm, PermissionChain
from agent.permissions.judge import Judge
from agent.ports import ModelFailure
from agent.tools.base import Allow, Deny, Effect, tool, tools_of
from agent.tools.executor import Executor
from agent.tools.guards import ChainPermissions, NoHooks, PreTool
from agent.tools.pipeline import Pipeline
from agent.tools.toolbox import ToolBox
from agent.transcript import CallOutcome, ModelResponded, ToolCall, ToolIntended, ToolReturned, Usage
from tests.fakes.turn_port import ANA, FakeTurnPort


class Sum(BaseModel):
    amount: int = 1
    to: str = "acme"


class Bank:
    """Tools that move money, and one that uses another."""

    def __init__(self):
        self.paid = []

    def judge(self, context, arguments):
        if arguments.amount < 0:
            raise RuntimeError("negative")
        return {0: "allow", 999: "deny"}.get(arguments.amount, "passthrough")

    @tool(Sum, permission=judge)
    async def pay(self, context, arguments):
        """Pay it."""
        self.paid.append((arguments.amount, arguments.to))
        return "paid"

    @tool(Sum, effect=Effect.NONE)
    async def plan(self, context, arguments):
        """Pay it by another tool."""
        verdict = await context.can_use_tool("pay", {"amount": arguments.amount}, context)
        return verdict.reason if isinstance(verdict, Deny) else dict(verdict.arguments)

    @tool(Sum, effect=Effect.NONE, concurrency_safe=True)
    async def look(self, context, arguments):
        """Look at it."""
        return "seen"


def rules(*written, **settings):
    found = [parse_rule(text, verdict, Source.LOCAL) for verdict, text in written]
    return PermissionChain(rules=found, **settings)


async def run(bank, port, *wanted, **permissions):
    chain, hooks = permissions.pop("chain", PermissionChain()), permissions.pop("hooks", NoHooks())
    response = ModelResponded(0, "", tuple(ToolCall(f"c{i}", name, given) for i, (name, given) in enumerate(wanted)))
    scope = port.scope([response, *port.events], 42.0)
    permits = ChainPermissions(chain=chain, **permissions)
    executor = Executor(Pipeline(scope=scope, tools=ToolBox(tools_of(bank)), permissions=permits, hooks=hooks))
    return [result.returned for result in await executor.run(open_calls(scope.journal.events))]


def said(returned):
    return json.loads(returned.content)


async def test_what_needs_a_person_parks_the_turn_before_anything_is_meant():
    bank, port = Bank(), FakeTurnPort()
    with pytest.raises(TurnParked):
        await run(bank, port, ("look", "{}"), ("pay", '{"amount": 5}'), ("look", "{}"))
    assert [ToolReturned, Parked] == [type(event) for event in port.events]
    assert Parked(0, "t/0/1", "pay", "a1", 42.0) == port.events[-1]
    assert ([], '{"amount": 5, "to": "acme"}') == (bank.paid, port.asked[0].arguments)


async def test_the_confirmed_call_runs_first_when_the_turn_goes_on():
    bank, port = Bank(), FakeTurnPort()
    wanted = ("look", "{}"), ("pay", '{"amount": 5}'), ("pay", '{"amount": 6}')
    for n in (1, 2):
        with pytest.raises(TurnParked):
            await run(bank, port, *wanted)
        port.consents[f"t/0/{n}"] = Consent.ALLOWED
    await run(bank, port, *wanted)
    assert [(5, "acme"), (6, "acme")] == bank.paid
    assert [ToolReturned, Parked, ToolIntended, ToolReturned, Parked, ToolIntended, ToolReturned] == [
        type(event) for event in port.events
    ]


@pytest.mark.parametrize(
    ("consent", "outcome", "words"),
    [(Consent.DENIED, CallOutcome.DENIED, "said no"), (Consent.EXPIRED, CallOutcome.EXPIRED, "did not answer in time")],
)
async def test_a_no_is_a_result_that_the_model_reads(consent, outcome, words):
    bank, port = Bank(), FakeTurnPort(consents={"t/0/0": consent})
    (returned,) = await run(bank, port, ("pay", "{}"))
    assert (outcome, []) == (returned.outcome, bank.paid)
    assert words in said(returned)["error"]


@pytest.mark.parametrize(
    ("amount", "outcome"), [(0, CallOutcome.DONE), (999, CallOutcome.DENIED), (5, None), (-1, None)]
)
async def test_a_tool_has_a_word_about_its_own_call(amount, outcome):
    bank, port = Bank(), FakeTurnPort()
    if outcome is None:
        with pytest.raises(TurnParked):
            await run(bank, port, ("pay", f'{{"amount": {amount}}}'))
    else:
        (returned,) = await run(bank, port, ("pay", f'{{"amount": {amount}}}'))
        assert outcome is returned.outcome


async def test_a_rule_about_an_argument_is_about_what_would_run():
    bank, port = Bank(), FakeTurnPort()
    chain = rules((Verdict.ALLOW, "pay(to=acme*)"))
    await run(bank, port, ("pay", '{"to": "acme ltd"}'), chain=chain)
    with pytest.raises(TurnParked):
        await run(bank, FakeTurnPort(), ("pay", '{"to": "other"}'), chain=chain)
    assert [(1, "acme ltd")] == bank.paid


async def test_a_denied_payee_is_denied_however_it_is_written():
    bank, port = Bank(), FakeTurnPort()
    chain = rules((Verdict.ALLOW, "pay"), (Verdict.DENY, "pay(to=evil*)"))
    (returned,) = await run(bank, port, ("pay", '{"to": " Evil"}'), chain=chain)
    assert (CallOutcome.DENIED, []) == (returned.outcome, bank.paid)


async def test_the_product_may_allow_deny_and_rewrite():

    async def can_use_tool(name, given, context):
        assert (ANA, "t/0/0") == (context.principal, context.call_key)
        return {1: Allow(), 2: Deny("not today."), 3: Allow({"amount": 7, "to": "evil"}), 4: None}[given["amount"]]

    bank, chain = Bank(), rules((Verdict.DENY, "pay(to=evil)"))
    (returned,) = await run(bank, FakeTurnPort(), ("pay", '{"amount": 1}'), can_use_tool=can_use_tool, chain=chain)
    assert CallOutcome.DONE is returned.outcome
    for amount, words in ((2, "not today"), (3, "forbid")):
        (returned,) = await run(
            bank, FakeTurnPort(), ("pay", f'{{"amount": {amount}}}'), can_use_tool=can_use_tool, chain=chain
        )
        assert words in said(returned)["error"]
    (returned,) = await run(bank, FakeTurnPort(), ("pay", '{"amount": 3}'), can_use_tool=can_use_tool)
    with pytest.raises(TurnParked):
        await run(bank, FakeTurnPort(), ("pay", '{"amount": 4}'), can_use_tool=can_use_tool)
    assert [(1, "acme"), (7, "evil")] == bank.paid


@pytest.mark.parametrize(
    ("rewritten", "settings", "words"),
    [
        ({"amount": 999}, {}, "itself says deny"),
        ({"amount": "much"}, {}, "rewritten to one that it does not take"),
        ({"amount": 7}, {"mode": Mode.PLAN}, "in plan mode nothing is changed"),
    ],
)
async def test_what_the_product_rewrites_is_judged_as_it_would_run(rewritten, settings, words):

    async def can_use_tool(_name, _given, _context):
        return Allow(rewritten)

    class Till(Bank):
        def judge(self, context, arguments):
            return "deny" if arguments.amount == 999 else "passthrough"

        @tool(Sum, permission=judge, read_only=lambda arguments: arguments.amount == 1)
        async def pay(self, context, arguments):
            """Pay it; one asks for the balance."""
            self.paid.append(arguments.amount)

    till = Till()
    chain = PermissionChain(**settings)
    (returned,) = await run(till, FakeTurnPort(), ("pay", "{}"), can_use_tool=can_use_tool, chain=chain)
    assert (CallOutcome.DENIED, []) == (returned.outcome, till.paid)
    assert words in said(returned)["error"]


async def test_what_cannot_be_undone_is_said_in_the_question_and_never_remembered():

    class Till(Bank):
        @tool(Sum, destructive=lambda arguments: arguments.amount > 10)
        async def pay(self, context, arguments):
            """Pay it."""

    for amount, destroys in ((5, False), (50, True)):
        port = FakeTurnPort()
        with pytest.raises(TurnParked):
            await run(Till(), port, ("pay", f'{{"amount": {amount}}}'))
        (asked,) = port.asked
        assert (destroys, not destroys) == (asked.destructive, asked.may_remember)


async def test_what_the_product_cannot_say_is_a_no():

    async def broken(name, given, context):
        raise RuntimeError("down")

    (returned,) = await run(Bank(), FakeTurnPort(), ("look", "{}"), can_use_tool=broken)
    assert CallOutcome.DENIED is returned.outcome


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ((), "needs the person's word"),
        (((Verdict.ALLOW, "pay"),), {"amount": 3, "to": "acme"}),
        (((Verdict.DENY, "pay"),), "forbid"),
    ],
)
async def test_a_tool_asks_the_same_permission_for_another_one(written, given):
    (returned,) = await run(Bank(), FakeTurnPort(), ("plan", '{"amount": 3}'), chain=rules(*written))
    data = said(returned)["data"]
    assert given == data if isinstance(given, dict) else given in data


@pytest.mark.parametrize(("risk", "asks"), [("LOW", False), ("HIGH", True), ("UNKNOWN", True)])
async def test_a_risky_call_is_asked_for_although_it_is_allowed(risk, asks):
    bank, chain = Bank(), rules((Verdict.ALLOW, "pay"), confirm=Confirm.RISKY)
    call = ("pay", f'{{"amount": 5, "security_risk": "{risk}"}}')
    if asks:
        with pytest.raises(TurnParked):
            await run(bank, FakeTurnPort(), call, chain=chain)
    else:
        await run(bank, FakeTurnPort(), call, chain=chain)
    assert ([] if asks else [(5, "acme")]) == bank.paid


class SmallModel:
    name, facts = "test:small", None

    def __init__(self, answer):
        self.answer, self.requests = answer, []

    async def respond(self, request, on_event):
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return ModelResponded(0, self.answer, usage=Usage(10, 5))

    async def aclose(self):
        pass


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ('{"matches": "allow", "confidence": 0.9}', CallOutcome.DONE),
        ('```json\n{"matches": "soft_deny", "confidence": 0.9}\n```', CallOutcome.DENIED),
        ('{"matches": "allow", "confidence": 0.79}', None),
        ('{"matches": "none", "confidence": 1}', None),
        ('{"matches": "allow", "confidence": 7}', None),
        ("I think that it is fine.", None),
        (ModelFailure(FailureKind.OVERLOADED, "busy"), None),
    ],
)
async def test_in_mode_auto_a_small_model_judges_and_a_person_where_it_is_not_sure(answer, outcome):
    model, bank = SmallModel(answer), Bank()
    config = AutoConfig(allow=("small sums",), soft_deny=("gambling",), environment=("a test",))
    permissions = {"chain": PermissionChain(mode=Mode.AUTO), "judge": Judge(model, config)}
    port = FakeTurnPort()
    if outcome is None:
        with pytest.raises(TurnParked):
            await run(bank, port, ("pay", "{}"), **permissions)
    else:
        (returned,) = await run(bank, port, ("pay", "{}"), **permissions)
        assert outcome is returned.outcome
    assert ([] if isinstance(answer, Exception) else [Usage(10, 5)]) == [beside.usage for beside in port.beside]
    told = json.loads(model.requests[0].items[0].text)
    assert (["small sums"], ["gambling"], ["a test"]) == (told["allow"], told["soft_deny"], told["environment"])
    assert ("pay", {"amount": 1, "to": "acme"}) == (told["tool"], json.loads(told["arguments"]))


async def test_what_the_person_allowed_is_not_judged_again():
    model, bank, port = SmallModel('{"matches": "none", "confidence": 1}'), Bank(), FakeTurnPort()
    permissions = {"chain": PermissionChain(mode=Mode.AUTO), "judge": Judge(model, AutoConfig())}
    with pytest.raises(TurnParked):
        await run(bank, port, ("pay", "{}"), **permissions)
    model.answer, port.consents["t/0/0"] = '{"matches": "soft_deny", "confidence": 1}', Consent.ALLOWED
    await run(bank, port, ("pay", "{}"), **permissions)
    assert ([(1, "acme")], 1) == (bank.paid, len(model.requests))


class Rewrites(NoHooks):
    """A hook that runs until the small model was asked, then replaces the input, or does not."""

    def __init__(self, model, replacement):
        self.model, self.replacement, self.asked_meanwhile = model, replacement, 0

    async def pre_tool(self, use):
        await asyncio.sleep(0)
        self.asked_meanwhile = len(self.model.requests)
        return PreTool(arguments=self.replacement)


@pytest.mark.parametrize(("replacement", "judged"), [(None, [1]), ({"amount": 1}, [1]), ({"amount": 2}, [1, 2])])
async def test_the_small_model_judges_beside_the_preparation_and_anew_what_was_rewritten(replacement, judged):
    model, bank = SmallModel('{"matches": "allow", "confidence": 1}'), Bank()
    hooks = Rewrites(model, replacement)
    permissions = {"chain": PermissionChain(mode=Mode.AUTO), "judge": Judge(model, AutoConfig())}
    await run(bank, FakeTurnPort(), ("pay", "{}"), hooks=hooks, **permissions)
    arguments = [json.loads(json.loads(request.items[0].text)["arguments"])["amount"] for request in model.requests]
    assert (judged, 1, [(judged[-1], "acme")]) == (arguments, hooks.asked_meanwhile, bank.paid)


@pytest.mark.parametrize("written", [(Verdict.ALLOW, "pay"), (Verdict.DENY, "pay"), (Verdict.ASK, "pay")])
async def test_what_a_rule_decides_is_not_judged_early(written):
    model = SmallModel('{"matches": "allow", "confidence": 1}')
    permissions = {"chain": rules(written, mode=Mode.AUTO), "judge": Judge(model, AutoConfig())}
    with suppress(TurnParked):
        await run(Bank(), FakeTurnPort(), ("pay", "{}"), **permissions)
    assert [] == model.requests


async def test_what_says_too_much_is_not_judged():
    model = SmallModel('{"matches": "allow", "confidence": 1}')
    assert Verdict.ASK is await Judge(model, AutoConfig()).judge("pay", "", "x" * 8001, FakeTurnPort().note_cost)
    assert [] == model.requests
