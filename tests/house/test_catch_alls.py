"""The places that may catch every exception. The list only shrinks."""

import ast
from collections.abc import Iterator

from tests.house.tree import PACKAGES, Function, functions, named, python_files

ALLOWED = {
    "channels/chat/reading.py:read_or_reject",  # one received event
    "gateway/http/api/server.py:in_one_shape",  # one request of a program or an operator
    "gateway/ops/personal_data.py:Eraser.look",  # one erasure
    "gateway/inbound/intake.py:ChannelSink._apart",  # one event of a batch
    "gateway/inbound/intake.py:ChannelSink._plans",  # one event of a batch
    "gateway/inbound/intake.py:ChannelSink.receive",  # one batch, taken apart
    "gateway/credentials/places.py:KeyringPlace._in_time.ask",  # one question to a keyring, whose errors are its own
    "gateway/sessions/router.py:Router.run",  # one row
    "gateway/sessions/session.py:Session.give_up",  # one apology
    "gateway/supervision.py:Supervised._contain",  # one task
    "gateway/supervision.py:_note_failure",  # one run of one part
    "gateway/supervision.py:run_again",  # one lane, one session
    "agent/bridges/foreign_turn.py:_pump",  # one run of a foreign agent
    "agent/context/compaction.py:_respond",  # one try at notes
    "agent/models/foreign.py:ForeignModel.respond",  # one call of a model of another distribution
    "agent/mcp/server.py:_attempt",  # one connection to a server, one call
    "agent/tools/guards.py:ChainPermissions._ask_product",  # one call, as the product sees it
    "agent/tools/guards.py:_own_word",  # a tool's own check of one call
    "agent/tools/pipeline.py:Pipeline._execute",  # one tool call
    "agent/tools/pipeline.py:Pipeline._own_check",  # a tool's own check of one call
    "agent/foreign_code.py:ForeignThreads._outcome",  # one call, whose error is raised where it is waited for
    "agent/hooks/chain.py:HookChain._answer",  # one hook
    "agent/tools/base.py:_holds",  # a tool's own check of one call
    "gateway/delivery/sender.py:call_within",  # one call of one channel
    "gateway/delivery/live_answer.py:LiveAnswer._show",  # one live answer
    "gateway/inbound/manager.py:ChannelManager._run_once",  # one channel's run
    "gateway/sessions/command_runner.py:CommandRunner._run",  # one command
    "gateway/sessions/session.py:Session._run_turn",  # one turn
    "gateway/sessions/session.py:Session._claim_and_run",  # one turn that cannot begin
    "gateway/store/writer.py:commit_group",  # one writer job
}
"""`file:function`: each records what it caught, and tells someone."""

EVERYTHING = {"Exception", "BaseException"}


def test_only_named_places_catch_everything() -> None:
    found = {
        f"{named(path)}:{name}"
        for path in python_files(*PACKAGES)
        for name, node in functions(path)
        if any(swallows(inner) for inner in own(node))
    }
    assert sorted(ALLOWED) == sorted(found), "catch the exceptions that you expect, or give the reason in ALLOWED"


def own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.Lambda):
            yield child
            yield from own(child)


def swallows(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        last = node.body[-1]
        return is_everything(node.type) and not (isinstance(last, ast.Raise) and last.exc is None)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        return name == "suppress" and any(is_everything(argument) for argument in node.args)
    return False


def is_everything(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(name, ast.Name) and name.id in EVERYTHING for name in names)
