"""A chain of scripted models with rules at its end, on a clock that is set."""

from datetime import UTC, datetime, timedelta

from agent.models.chain import Chain, StandIn
from agent.models.failures import failure
from agent.models.offline import OfflineModel, RuleAnswer, RuleCall
from agent.models.scripted import Says, ScriptedModel
from agent.ports import ModelFailure, ModelRequest, SystemPrompt, ToolSpec
from agent.transcript import ToolItem, UserItem

SPEC = ToolSpec("log", "Logs.", {"type": "object"})
REQUEST = ModelRequest(SystemPrompt("be kind"), (UserItem("30 minutes of guitar"),), (SPEC,))


class Watch:
    """A clock that is set."""

    def __init__(self):
        self.now = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)

    def __call__(self):
        return self.now

    def leap(self, seconds):
        self.now += timedelta(seconds=seconds)


class LoggingRules:
    """Rules that log once, then say so."""

    def answer(self, request):
        done = any(isinstance(item, ToolItem) for item in request.items)
        return RuleAnswer("Logged.") if done else RuleAnswer(calls=(RuleCall("log", {}),))


def said(why):
    return f"({why.value}: by rules)"


def chain_of(*models, rules=True):
    stand_in = StandIn(OfflineModel(LoggingRules()), lambda _context, why: said(why)) if rules else None
    return Chain(models, stand_in)


def failing(kind, name="first:m", retry_after_s=None):
    return ScriptedModel(lambda _: failure(kind, "x", wait_s=retry_after_s), name=name)


def answering(text="ok", name="second:m"):
    return ScriptedModel(lambda _: Says(text), name=name)


async def ask(model, request=REQUEST):
    events = []
    try:
        return await model.respond(request, events.append), events
    except ModelFailure as problem:
        return problem, events
