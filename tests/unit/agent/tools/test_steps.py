"""The steps of a call in order, and their guards: the tool's flags, hooks, permission."""

import json
import sys
from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from agent.permissions.chain import PermissionChain
from agent.tools.base import Allow, Deny, Effect, ToolContext, ToolError, tool, tools_of
from agent.tools.calls import PendingCall
from agent.tools.guards import Ask, ChainPermissions, PostTool, PreTool, ToolUse, name_rules
from agent.tools.pipeline import Pipeline
from agent.tools.schema import SecurityRisk
from agent.tools.toolbox import ToolBox
from agent.transcript import CallOutcome, Nudged, ToolCall, ToolIntended, ToolResultRewritten, ToolReturned
from tests.fakes.agents import a_tool
from tests.fakes.turn_port import ANA, NOW, FakeTurnPort


class Path(BaseModel):
    path: str = "."
    depth: int = 0


class Listing(BaseModel):
    names: list[str]


@dataclass
class Guards:
    pre: PreTool = field(default_factory=PreTool)
    verdict: Allow | Deny | Ask = field(default_factory=Allow)
    post: PostTool = field(default_factory=PostTool)
    log: list[object] = field(default_factory=list)

    async def pre_tool(self, use):
        self.log.append(("pre", use.arguments.path))
        return self.pre

    def judge_early(self, use, *, was_asked):
        return None

    async def decide(self, use, hooked, early):
        self.log.append(("permission", use.arguments.path, hooked))
        return self.verdict

    def listens_after(self, tool):
        return self.post is not None

    async def post_tool(self, use, returned):
        self.log.append(("post", use.arguments.path, returned.outcome))
        return self.post

    async def permission_denied(self, use, denied):
        self.log.append(("denied", denied.reason))


def by_names(allow=(), deny=()):
    return ChainPermissions(chain=PermissionChain(rules=name_rules(allow, deny)))


class Shelf:
    """A tool that notes each of its steps."""

    def __init__(self, log):
        self.log = log

    async def check(self, context, arguments):
        self.log.append(("validate", arguments.path))
        if arguments.path == "nowhere":
            raise ToolError("there is no such place")

    def expand(self, context, arguments):
        self.log.append(("backfill", arguments.path))
        return arguments.model_copy(update={"path": f"/home/{arguments.path}"})

    @tool(Path, validate=check, backfill=expand, aliases=("ls", "dir"))
    async def look(self, context, arguments):
        """Look there."""
        self.log.append(("run", arguments.path))
        return {"names": [arguments.path]}


async def put(guards, tools, name, written="{}", *, intended=None, port=None):
    port = port or FakeTurnPort()
    pipeline = Pipeline(scope=port.scope(), tools=ToolBox(tools), permissions=guards, hooks=guards)
    pending = PendingCall(ToolCall("c0", name, written), 0, "t/0/0", intended)
    pending.response_journaled.set()
    result = await pipeline.run(pending)
    return result.returned, port.events


def error(returned):
    return json.loads(returned.content)["error"]


async def test_the_steps_of_a_call_come_in_their_order():
    guards = Guards()
    returned, (intent, raw, shown) = await put(guards, tools_of(Shelf(guards.log)), "look", '{"path": "a"}')
    assert [
        ("validate", "a"),
        ("backfill", "a"),
        ("pre", "/home/a"),
        ("permission", "/home/a", None),
        ("run", "/home/a"),
        ("post", "/home/a", CallOutcome.DONE),
    ] == guards.log
    assert ToolIntended(0, "t/0/0", "look", '{"path":"/home/a","depth":0}') == intent
    assert (raw.content, '{"path":"/home/a","depth":0}') == (returned.content, raw.ran_with)
    assert ToolResultRewritten(0, "t/0/0", "c0", raw.content) == shown, "the hooks were heard, and left it as it is"


@pytest.mark.parametrize("name", ["look", "ls", "dir"])
async def test_a_tool_is_found_by_its_aliases(name):
    guards = Guards()
    box = ToolBox(tools_of(Shelf(guards.log)))
    returned, _ = await put(guards, tools_of(Shelf(guards.log)), name)
    assert (CallOutcome.DONE, name) == (returned.outcome, returned.name)
    assert ["look"] == [spec.name for spec in box.specs]


async def test_what_no_schema_can_say_the_tool_says_itself():
    guards = Guards()
    returned, _ = await put(guards, tools_of(Shelf(guards.log)), "look", '{"path": "nowhere"}')
    assert (CallOutcome.FAILED, "there is no such place") == (returned.outcome, error(returned))
    assert [("validate", "nowhere")] == guards.log


@pytest.mark.parametrize("check", ["validate", "backfill"])
async def test_a_check_that_throws_lets_nothing_run(check):
    ran = []

    async def run(_context, _arguments):
        ran.append(1)

    def burst(_context, _arguments):
        raise RuntimeError("password=hunter2")

    returned, _ = await put(Guards(), [a_tool("burst", run, Path, **{check: burst})], "burst")
    assert (CallOutcome.FAILED, []) == (returned.outcome, ran)
    assert "RuntimeError" in error(returned)
    assert "hunter2" not in returned.content


async def test_a_tool_or_a_check_that_ends_the_process_ends_its_call_alone():

    async def leave(_context, _arguments):
        sys.exit(1)

    def leave_at_once(_context, _arguments):
        sys.exit(1)

    for leaving in (a_tool("leave", leave, Path), a_tool("leave", leave, Path, validate=leave_at_once)):
        returned, _ = await put(Guards(), [leaving], "leave")
        assert CallOutcome.FAILED is returned.outcome
        assert "ForeignExit" in error(returned)


async def test_a_denied_call_does_not_run_and_is_told_of():
    guards = Guards(verdict=Deny("not on a Sunday"))
    returned, events = await put(guards, tools_of(Shelf(guards.log)), "look")
    assert (CallOutcome.DENIED, "Denied: not on a Sunday") == (returned.outcome, error(returned))
    assert [returned] == events
    assert ("denied", "not on a Sunday") == guards.log[-1]


async def test_permission_may_rewrite_the_input():
    guards = Guards(verdict=Allow({"path": "safe"}))
    returned, events = await put(guards, tools_of(Shelf(guards.log)), "look", '{"path": "a"}')
    assert '{"path":"safe","depth":0}' == events[0].arguments
    assert [("validate", "safe"), ("run", "safe"), ("post", "safe", CallOutcome.DONE)] == guards.log[-3:]
    assert CallOutcome.DONE is returned.outcome


@pytest.mark.parametrize("rewritten", [{"path": 7}, {"elsewhere": "a"}, {"path": "nowhere"}])
async def test_a_rewritten_input_that_does_not_fit_does_not_run(rewritten):
    guards = Guards(verdict=Allow(rewritten))
    returned, _ = await put(guards, tools_of(Shelf(guards.log)), "look")
    assert returned.outcome in {CallOutcome.DENIED, CallOutcome.FAILED}
    assert not [step for step in guards.log if step[0] == "run"]


async def test_what_the_hooks_decide_reaches_the_permission():
    guards = Guards(pre=PreTool(Deny("no")))
    await put(guards, tools_of(Shelf(guards.log)), "look")
    assert ("permission", "/home/.", Deny("no")) in guards.log


@pytest.mark.parametrize(("hooked", "outcome"), [(Deny("no"), Deny), (Allow(), Allow), (Ask("?"), Ask)])
async def test_todays_rules_heed_hooks_but_never_past_a_deny(hooked, outcome):
    guards = Guards()
    use = ToolUse(tools_of(Shelf(guards.log))[0], Path(), ToolContext(ANA, NOW, "t/0/0"))
    verdict = await by_names().decide(use, hooked)
    assert outcome is type(verdict)
    assert isinstance(await by_names(deny=("l*",)).decide(use, hooked), Deny)


async def test_what_a_hook_makes_of_a_result_is_a_second_event():
    guards = Guards(pre=PreTool(context="it is a test"), post=PostTool('{"success":true}', "be brief"))
    returned, (_, before, raw, rewritten, after) = await put(guards, tools_of(Shelf(guards.log)), "look")
    assert isinstance(raw, ToolReturned)
    assert "names" in raw.content
    assert ToolResultRewritten(0, "t/0/0", "c0", '{"success":true}') == rewritten
    assert '{"success":true}' == returned.content
    assert [Nudged(0, "it is a test"), Nudged(0, "be brief")] == [before, after]


async def test_a_hook_is_shown_a_long_result_whole_and_what_it_took_out_is_not_read_on():

    class Masks(Guards):
        async def post_tool(self, use, returned):
            return PostTool(returned.content.replace("secret", "------"))

    async def leak(_context, _arguments):
        return "x" * 3000 + " secret " + "y" * 3000

    port, guards = FakeTurnPort(), Masks()
    returned, _ = await put(guards, [a_tool("leak", leak, Path, max_result_chars=1000)], "leak", port=port)
    assert len(returned.content) <= 1000
    whole = await port.whole_result(returned.call_key)
    assert whole is not None and len(whole) > 6000 and "secret" not in whole


async def test_a_call_that_a_dead_process_began_goes_on_as_it_was_intended():
    guards, ran = Guards(verdict=Deny("never")), []

    async def run(_context, arguments):
        ran.append(arguments.path)

    intended = ToolIntended(0, "t/0/0", "send", '{"path":"safe","depth":1}')
    sending = a_tool("send", run, Path, Effect.IDEMPOTENT, backfill=lambda _context, arguments: arguments)
    returned, events = await put(guards, [sending], "send", '{"path": "a"}', intended=intended)
    assert (["safe"], CallOutcome.DONE) == (ran, returned.outcome)
    assert [ToolReturned, ToolResultRewritten] == [type(event) for event in events]


@pytest.mark.parametrize(
    ("written", "risk"),
    [
        ("{}", SecurityRisk.UNKNOWN),
        ('{"security_risk": "HIGH"}', SecurityRisk.HIGH),
        ('{"security_risk": "low"}', SecurityRisk.LOW),
        ('{"security_risk": "none at all"}', SecurityRisk.UNKNOWN),
        ('{"security_risk": ["LOW"]}', SecurityRisk.UNKNOWN),
    ],
)
async def test_the_risk_that_the_model_scores_is_for_the_permission_alone(written, risk):
    seen = []

    class Notes(Guards):
        async def decide(self, use, hooked, early):
            seen.append(use.risk)
            return Allow()

    guards = Notes()
    returned, _ = await put(guards, tools_of(Shelf(guards.log)), "look", written)
    assert ([risk], CallOutcome.DONE) == (seen, returned.outcome)


async def test_a_disabled_tool_is_not_there():

    def burst():
        raise RuntimeError

    async def run(_context, _arguments):
        pass

    tools = [a_tool("on", run), a_tool("off", run, enabled=False), a_tool("odd", run, enabled=burst)]
    assert ["on"] == [spec.name for spec in ToolBox(tools).specs]


@pytest.mark.parametrize(
    ("flags", "safe"),
    [
        ({}, False),
        ({"concurrency_safe": True}, True),
        ({"concurrency_safe": lambda arguments: arguments.n > 1}, True),
        ({"concurrency_safe": lambda arguments: arguments.n > 2}, False),
        ({"concurrency_safe": lambda arguments: arguments.nothing}, False),
        ({"concurrency_safe": True, "exclusive": True}, False),
        ({"concurrency_safe": True, "read_only": lambda arguments: arguments.n < 2}, False),
        ({"concurrency_safe": True, "effect": Effect.UNSAFE}, False),
        ({"concurrency_safe": True, "effect": Effect.UNSAFE, "read_only": lambda arguments: arguments.n == 2}, True),
    ],
)
def test_a_flag_may_depend_on_the_input_and_fails_closed(flags, safe):

    async def run(_context, _arguments):
        pass

    one = a_tool("one", run, **flags)
    assert safe is one.is_concurrency_safe(one.arguments(n=2))


@pytest.mark.parametrize(("data", "fits"), [({"names": ["a"]}, True), (Listing(names=["a"]), True), ([1], False)])
async def test_a_result_is_what_its_tool_promises(data, fits):

    async def run(_context, _arguments):
        return data

    returned, _ = await put(Guards(), [a_tool("lists", run, Path, output_schema=Listing)], "lists")
    assert fits is (returned.outcome is CallOutcome.DONE)
    assert fits is ('"names":["a"]' in returned.content)
