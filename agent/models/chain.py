"""The choice of a model for each request, its fallbacks, and at last the offline rules.

Each route is a test and a model, which may be a router itself; each link has its own retries, cooldowns and limits. An
error that every model would repeat (a bad request, a full window) is not passed on, and an error that a person should
wait for never goes to the rules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from agent.budgets import OverBudget
from agent.context.sizes import HEAVY_FROM
from agent.errors import FailureKind
from agent.fallbacks import OVER_CAP, Fallback
from agent.models.offline import ID_PREFIX
from agent.pictures import visible
from agent.ports import (
    BINDING,
    ChatModel,
    ModelEvent,
    ModelFacts,
    ModelFailure,
    ModelRequest,
    OnModelEvent,
    Recovering,
    RequestContext,
    TextDelta,
    TextDiscarded,
)
from agent.transcript import AssistantItem, ModelResponded, ToolItem, UserItem


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """A test of requests and the model for those that pass."""

    wants: Callable[[ModelRequest], bool]
    model: ChatModel


class RoutedModel:
    """A model that sends each request to the first route that wants it, others to a default model."""

    def __init__(self, routes: Sequence[ModelRoute], otherwise: ChatModel) -> None:
        self.name = otherwise.name
        self._routes = routes
        self._otherwise = otherwise

    @property
    def facts(self) -> ModelFacts:
        """Return the joint facts of all its models."""
        return joint_facts([self._otherwise.facts, *(route.model.facts for route in self._routes)])

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Stream the chosen model's response.

        Raises:
            ModelFailure: the chosen model failed.
        """
        chosen = next((route.model for route in self._routes if route.wants(request)), self._otherwise)
        return await chosen.respond(request, on_event)

    async def aclose(self) -> None:
        """Close all of them."""
        for model in (*(route.model for route in self._routes), self._otherwise):
            await model.aclose()


def joint_facts(facts: Sequence[ModelFacts]) -> ModelFacts:
    """Return the common limits of models of which any may answer: the smallest window, prices only if all agree.

    Pictures are supported if one of the models supports them.
    """
    smallest = min(facts, key=lambda each: each.context_window_tokens)
    prices = smallest.prices if all(each.prices == smallest.prices for each in facts) else None
    return replace(smallest, prices=prices, sees_images=any(each.sees_images for each in facts))


def is_light(request: ModelRequest) -> bool:
    """Return True if the turn is so simple that a cheaper model will do; equal in all its steps."""
    weight = request.weigh()
    return weight is not None and weight < HEAVY_FROM and not needs_eyes(request)


def needs_tools(request: ModelRequest) -> bool:
    """Return True if the request has tools."""
    return bool(request.tools)


def needs_eyes(request: ModelRequest) -> bool:
    """Return True if the conversation, as it is sent, has a picture."""
    return any(isinstance(item, UserItem) and visible(item.pictures) for item in request.items)


log = structlog.get_logger()

MOST_TOLD = 10_000  # people remembered as told of a reached cap; beyond it the oldest is forgotten and told again
NOT_FOR_RULES = frozenset({FailureKind.RATE_LIMIT, FailureKind.BAD_REQUEST, FailureKind.CONTEXT})
"""Failures after which a person should wait or rephrase; after any other the time of recovery is unknown."""

KEPT = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTEXT})
"""Kinds that the request itself causes."""


Notice = Callable[[RequestContext | None, FailureKind | OverBudget], str]
"""Returns the text that rules say first: for whom, and why the model does not answer."""


class StandIn:
    """Rules that answer in a model's place and first say why."""

    def __init__(self, rules: ChatModel, notice: Notice) -> None:
        """`rules` never fail; `notice` returns the text before their answer."""
        self.name = rules.name
        self._rules = rules
        self._notice = notice
        self._reasons: dict[str, FailureKind | OverBudget] = {}  # by person, for the current turn
        self._told: dict[str, tuple[str, datetime | None]] = {}  # by person: the notice on a cap, and the cap's reset

    async def answer(
        self, why: FailureKind | OverBudget, request: ModelRequest, on_event: OnModelEvent
    ) -> ModelResponded:
        """Return the rules' response in place of a model that failed like this, or is over its cap."""
        self._reasons[_person_of(request)] = why
        return await self.continue_turn(request, on_event)

    async def continue_turn(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the rules' response; a request with data of the agent gets it in the agent's own form, without a
        notice.
        """
        context = request.context
        if context is not None and context.data is not None:
            return await self._rules.respond(request, on_event)
        heard: list[ModelEvent] = []
        response = await self._rules.respond(request, heard.append)
        if not response.tool_calls:
            why = self._reasons.pop(_person_of(request), FailureKind.NETWORK)
            notice = self._notice(context, why)
            if isinstance(why, OverBudget) and self._has_told(_person_of(request), notice, why):
                notice = ""
            if notice:
                on_event(TextDelta(f"{notice}\n\n"))
                response = replace(response, text=f"{notice}\n\n{response.text}")
        for event in heard:
            on_event(event)
        return response

    def _has_told(self, person: str, notice: str, over: OverBudget) -> bool:
        """Return True if this person was told of this cap in these words before; remember that they are now."""
        told = notice, over.resets_at
        before = self._told.pop(person, None)
        if len(self._told) >= MOST_TOLD:
            del self._told[next(iter(self._told))]
        self._told[person] = told
        return before == told

    async def aclose(self) -> None:
        """Close the rules."""
        await self._rules.aclose()


def _person_of(request: ModelRequest) -> str:
    return "" if request.who is None else f"{request.who.tenant} {request.who.user_id}"


class Chain:
    """Models in the order in which they are asked, then optionally rules."""

    def __init__(
        self, links: Sequence[ChatModel], rules: "StandIn | None" = None, light: ChatModel | None = None
    ) -> None:
        """`links` has at least one model; `rules` come after the last, `light` before the first in simple turns."""
        self.name = links[0].name
        self._links = links
        self._rules = rules
        self._light = light

    @property
    def facts(self) -> ModelFacts:
        """Return the first link's facts, joined with those of the light model."""
        return self._links[0].facts if self._light is None else joint_facts([self._links[0].facts, self._light.facts])

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Stream the response of the first model of the chain that answers.

        Raises:
            ModelFailure: every model of the chain failed.
        """
        rules = self._rules_for(request)
        if rules is not None and _asked_by_rules(request):
            return await rules.continue_turn(request, on_event)
        try:
            return await self._ask(request, on_event)
        except OverBudget as over:
            if rules is None or over.resets_at is None or _is_under_way(request):
                raise
            log.warning("model_changed", model=self.name, error=f"{OVER_CAP}{over.scope}", next=rules.name)
            on_event(Recovering(Fallback.NEXT_MODEL, rules.name, f"{OVER_CAP}{over.scope}"))
            return await rules.answer(over, request, on_event)

    def _rules_for(self, request: ModelRequest) -> StandIn | None:
        """Return the rules, unless a file describes the agent: they only know the product's work."""
        return self._rules if request.context is None or request.context.is_products else None

    async def _ask(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        rules = self._rules_for(request)
        failures: list[ModelFailure] = []
        links = self._in_order(request)
        for place, link in enumerate(links):
            listening = _Listening(on_event)
            try:
                return await link.respond(request, listening)
            except ModelFailure as problem:
                if problem.kind in KEPT and link is not self._light:
                    raise
                failures.append(problem)
                listening.discard()
                if place + 1 < len(links):
                    self._tell_change(problem, link.name, links[place + 1].name, on_event)
        if rules is None or _is_under_way(request) or any(each.kind in NOT_FOR_RULES for each in failures):
            raise _to_tell(failures)
        self._tell_change(failures[0], self._links[-1].name, rules.name, on_event)
        return await rules.answer(failures[0].kind, request, on_event)

    def _in_order(self, request: ModelRequest) -> Sequence[ChatModel]:
        """Return the links with the person's choice first, or the light one first if the turn is simple."""
        every = (*self._links, self._light) if self._light is not None else self._links
        wanted = None if request.who is None else request.who.model
        chosen = None if wanted is None else next((link for link in every if link.name == wanted), None)
        if chosen is None and self._light is not None and is_light(request):
            chosen = self._light
        return self._links if chosen is None else [chosen, *(link for link in self._links if link is not chosen)]

    def _tell_change(self, problem: ModelFailure, before: str, after: str, on_event: OnModelEvent) -> None:
        log.warning("model_changed", model=before, error=str(problem), next=after)
        on_event(Recovering(Fallback.NEXT_MODEL, after, f"{before}: {problem.kind.value}"))

    async def aclose(self) -> None:
        """Close all of them."""
        for link in (*self._links, *([self._light] if self._light is not None else [])):
            await link.aclose()
        if self._rules is not None:
            await self._rules.aclose()


def _to_tell(failures: Sequence[ModelFailure]) -> ModelFailure:
    """Return the failure to tell the person, preferably one that says when to come back."""
    busy = [problem for problem in failures if problem.kind is FailureKind.RATE_LIMIT]
    return min(busy, key=lambda problem: problem.retry_after_s or 0.0) if busy else failures[0]


def _since_asked(request: ModelRequest) -> Sequence[object]:
    """Return the items after the person's last message."""
    start = len(request.items)
    while start and not isinstance(request.items[start - 1], UserItem):
        start -= 1
    return request.items[start:]


def _is_under_way(request: ModelRequest) -> bool:
    """Return True if a model's tools have run in this turn: rules would start anew and repeat them."""
    return any(isinstance(item, ToolItem) for item in _since_asked(request))


def _asked_by_rules(request: ModelRequest) -> bool:
    """Return True if rules began this turn: they also end it."""
    calls = [call for item in _since_asked(request) if isinstance(item, AssistantItem) for call in item.tool_calls]
    return bool(calls) and all(call.id.startswith(ID_PREFIX) for call in calls)


class _Listening:
    """A listener that passes events on and can retract those of a link that then failed."""

    def __init__(self, on_event: OnModelEvent) -> None:
        self._on_event = on_event
        self._told = False

    def __call__(self, event: ModelEvent) -> None:
        if isinstance(event, BINDING):
            self._told = True
        elif isinstance(event, TextDiscarded):
            self._told = False
        self._on_event(event)

    def discard(self) -> None:
        """Discard the streamed events."""
        if self._told:
            self._on_event(TextDiscarded())
