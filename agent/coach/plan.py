"""A weekly plan by prefetch: three reads at once, one model call without tools, and the plan is kept as it is said.

One that is kept is shown without a model. The loop needs at least three model calls for the same (ask for the data,
keep the plan, answer). Whatever this short way cannot do, it hands to the loop: a failed or cut response, a message
that came in meanwhile, a stop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import date

import structlog
from pydantic import ConfigDict, TypeAdapter

from agent.bounded import Deadline, Interrupted, run_bounded
from agent.calendar import context_of, today_of, week_of
from agent.catalogue import DEFAULT, NAMES, escape, language_of
from agent.coach.check_ins import beginning_of_week
from agent.coach.durations import spell_minutes
from agent.coach.patterns import MAX_READ
from agent.coach.plan_answer import PlanAnswer, PlanStream, read_plan
from agent.coach.plan_conditions import conditions_text
from agent.coach.plan_data import OPENING, PlanFrame, PlanWish, Prefetched, plan_week, prefetch, read_wish
from agent.coach.practice import Insight, PracticeReader, PracticeWriter, WeeklyPlan
from agent.coach.reader.requests import unread_wish
from agent.coach.rule_plan import insights_of
from agent.coach.saved_plan import insights_text, plan_report, saved_plan_text
from agent.coach.texts import detect, in_any_language, say, say_day
from agent.definition import Agent
from agent.end_texts import failure_text
from agent.errors import FailureKind
from agent.fallbacks import Fallback
from agent.journal import Journal
from agent.model_caller import Recoveries
from agent.ports import (
    LocalEffect,
    ModelAtWork,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    TextDelta,
    TextDiscarded,
    Turn,
    TurnPorts,
)
from agent.responses import Text, classify
from agent.transcript import (
    AssistantItem,
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    SuggestedReply,
    ToolReturned,
    TurnStarted,
    UserItem,
)
from agent.wellformed import read_object

log = structlog.get_logger()

PLAN_S = 60.0
"""The reads and the one model call together take no longer, a local model's work not counted; then the loop takes
over with its own deadline."""

NO_PLAN = ("plan.empty", "plan.no_day")
HISTORY_ITEMS = 10
SAVED = "save_weekly_plan"

_INSIGHTS = TypeAdapter(tuple[Insight, ...], config=ConfigDict(defer_build=True))

RunTurn = Callable[[Turn, TurnPorts, Agent], Awaitable[EndReason]]


@dataclass(frozen=True, slots=True)
class _PlanRun:
    """One plan turn, and what it needs."""

    turn: Turn
    ports: TurnPorts
    agent: Agent
    reader: PracticeReader
    writer: PracticeWriter
    run_turn: RunTurn
    journal: Journal
    recoveries: Recoveries

    @property
    def now_turn(self) -> Turn:
        """The turn with all that its journal holds by now."""
        return replace(self.turn, events=tuple(self.journal.events))

    @property
    def asked(self) -> str:
        """Return the person's words."""
        return _words_asked(self.turn)

    @property
    def greeting(self) -> str:
        """Return the words before a plan: none, unless the coach itself opens the week."""
        return f"{say(self.language, 'check_in.opening')}\n\n" if self.asked.strip() == OPENING else ""

    @property
    def language(self) -> str:
        """The language that the person chose, else of the words behind `/plan`, else the person's."""
        principal = self.turn.principal
        said = None if principal.keeps_language else detect(self.asked.removeprefix("/plan"))
        return said or language_of(principal.locale)


async def run_plan_turn(
    turn: Turn, ports: TurnPorts, agent: Agent, reader: PracticeReader, writer: PracticeWriter, run_turn: RunTurn
) -> EndReason:
    """Answer with a weekly plan and save it, or show the saved one; resume from the turn's journal.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    journal = Journal(turn.id, turn.events, ports.journal)
    run = _PlanRun(turn, ports, agent, reader, writer, run_turn, journal, Recoveries(journal, agent.model))
    saved = _find_saved(turn)
    if saved is not None:
        return await _finish(run, saved, _say_saved(run, saved, _as_response("")))
    if not all(isinstance(event, TurnStarted) for event in turn.events):
        return await run_turn(turn, ports, agent)  # the loop had begun
    wish = read_wish(run.asked, await reader.skills(turn.principal))
    if wish.shows and (shown := await _kept_text(run, wish)):
        return await _finish(run, None, _as_response(f"{run.greeting}{shown}"))
    deadline = Deadline(PLAN_S, agent.limits.working_s, asyncio.get_running_loop().time)
    try:
        writing = _write(run, wish, deadline)
        data, response = await run_bounded(writing, deadline.remaining_s, ports.watchers.until_stopped())
    except (ModelFailure, TimeoutError, Interrupted) as failure:
        run.recoveries.abandon()
        if isinstance(failure, ModelFailure) and failure.kind is FailureKind.TIMEOUT and not failure.retryable:
            await run.recoveries.write()
            text = failure_text(agent.texts, failure, turn.principal.locale)
            await ports.journal.finish(EndReason.MODEL_ERROR, text, None, text)
            return EndReason.MODEL_ERROR  # the server worked on it for as long as it may: it does not begin anew
        return await _hand_over(run, failure)
    if not isinstance(classify(response), Text):
        run.recoveries.discard(response)
        return await _hand_over(run, None)
    await run.recoveries.write()
    return await _keep(run, data, response, wish)


async def _kept_text(run: _PlanRun, wish: PlanWish) -> str:
    """Return the saved plan of the week and what was done of it, or ""."""
    principal, now = run.turn.principal, run.agent.clock()
    week = plan_week(principal, now, is_next=wish.is_next)
    plan = await run.reader.plan(principal, week)
    if plan is None:
        return ""
    skills = await run.reader.skills(principal)
    sessions = await run.reader.sessions(principal, since=week, limit=MAX_READ)
    today = today_of(principal, now)
    this_week = week_of(today, principal.week_start)
    report = plan_report(plan, week, today, skills, sessions, this_week=this_week)
    return saved_plan_text(run.language, report)


async def _write(run: _PlanRun, wish: PlanWish, deadline: Deadline) -> tuple[Prefetched, ModelResponded]:
    """Return the data, and what the model makes of it."""
    turn, agent, language = run.turn, run.agent, run.language
    now = agent.clock()
    data = await prefetch(run.reader, turn.principal, now, wish)
    request = ModelRequest(
        system=agent.system_prompt(turn.principal, now, turn.hints, turn.memory),
        items=(*_talk(turn), plan_request(data, language, run.asked or "/plan")),
        max_output_tokens=agent.limits.max_output_tokens,
        context=replace(context_of(turn.principal, now, data), locale=language),
        who=turn.principal,
    )
    run.recoveries.tries.begin(request)
    stream = PlanStream()

    def hear(event: ModelEvent) -> None:
        nonlocal stream
        run.recoveries.hear(event)
        if isinstance(event, TextDelta):
            if shown := stream.feed(event.text):
                run.ports.watchers.progress(replace(event, text=shown))
        elif isinstance(event, TextDiscarded):
            stream = PlanStream()
            run.ports.watchers.progress(event)
        elif isinstance(event, ModelAtWork):
            deadline.hold(event.on)

    response = await agent.model.respond(request, hear)
    if rest := stream.rest().rstrip():
        run.ports.watchers.progress(TextDelta(rest))
    return data, response


async def _keep(run: _PlanRun, data: Prefetched, response: ModelResponded, wish: PlanWish) -> EndReason:
    """Keep the plan, with new conditions, and say it; words that there is nothing to plan from are no plan."""
    plan = read_plan(response.text, data.skills.skills, data.frame)
    if any(words in plan.text for key in NO_PLAN for words in in_any_language(key)):
        return await _finish(run, None, replace(response, text=plan.text))
    conditions = data.frame.conditions if wish.conditions and wish.skill is None else None
    kept = replace(_with_insights(run, data, plan, wish), conditions=conditions)
    saved = LocalEffect(run.writer.save_plan, kept, asks=True)
    returned = await run.ports.journal.apply(saved, _result(run.turn))
    return await _finish(run, returned, _say_saved(run, returned, response))


def _say_saved(run: _PlanRun, saved: ToolReturned, response: ModelResponded) -> ModelResponded:
    """Return the response with the saved plan as its text; the first time, it asks if each week may begin so."""
    text, language, principal = f"{run.greeting}{_answer(run, saved)}", run.language, run.turn.principal
    if not _data(saved).get("asks_weekly"):
        return replace(response, text=text)
    asked = say(language, "check_in.ask", **beginning_of_week(language, principal.week_start))
    yes = SuggestedReply(say(language, "check_in.ask_yes"), "/checkins plan on", is_yes=True, language=language)
    no = SuggestedReply(say(language, "check_in.ask_no"), "/checkins plan off", language=language)
    return replace(response, text=f"{text}\n\n{asked}", replies=(yes, no))


def _with_insights(run: _PlanRun, data: Prefetched, plan: PlanAnswer, wish: PlanWish) -> WeeklyPlan:
    """Return the plan with the model's own findings; those of the rules where it has none."""
    off = data.frame.conditions.weekdays_off
    found = plan.insights or insights_of(run.language, data.journey, data.patterns, off)
    content = plan.text.strip()
    if plan.cut:
        most = ", ".join(f"{spell_minutes(data.frame.most_of(skill))} ({escape(skill)})" for skill in plan.cut)
        content = f"{content}\n\n{say(run.language, 'plan.cut', most=most)}"
    if kept := conditions_text(run.language, data.frame.conditions):
        key = "plan.conditions_once" if wish.conditions and wish.skill else "plan.conditions"
        key = "plan.conditions_broken" if plan.ruled_out else key
        content = f"{content}\n\n{say(run.language, key, conditions=kept)}"
    if rest := unread_wish(wish.rest, [skill.name for skill in data.skills.skills]):
        content = f"{content}\n\n_{say(run.language, 'plan.unread', rest=escape(rest))}_"
    ids = tuple(skill.id for skill in data.skills.skills)
    return WeeklyPlan(data.frame.week, content, found, ids, plan.sessions)


def _answer(run: _PlanRun, saved: ToolReturned) -> str:
    """Return the answer about a new plan: its week, the plan, and insights."""
    kept, language = _data(saved), run.language
    today, week = today_of(run.turn.principal, run.agent.clock()), date.fromisoformat(str(kept["week"]))
    insights = _INSIGHTS.validate_python(kept["insights"])
    blocks = [str(kept["content"]), insights_text(language, insights)]
    if week > today:
        blocks.insert(0, say(language, "plan.for_next_week", date=say_day(language, week, today)))
    elif kept["replaced"]:
        blocks.append(say(language, "plan.replaced"))
    return "\n\n".join(block for block in blocks if block)


async def _hand_over(run: _PlanRun, failure: BaseException | None) -> EndReason:
    """Nothing but what it cost was journaled: the loop does all of it."""
    why = str(failure) if failure else "no text"
    log.info("plan_handed_over", error=why)
    run.ports.watchers.progress(TextDiscarded())
    run.recoveries.note(Fallback.HANDED_OVER, why[:200])
    await run.recoveries.write()
    return await run.run_turn(run.now_turn, run.ports, run.agent)


async def _finish(run: _PlanRun, saved: ToolReturned | None, response: ModelResponded) -> EndReason:
    """End with the plan; where the person said something meanwhile, the plan stands and the loop reads on."""
    turn, journal = run.now_turn, run.ports.journal
    if await journal.finish(EndReason.COMPLETED, response.text, response):
        return EndReason.COMPLETED
    await journal.record(response)
    events: list[JournalEvent] = list(turn.events)
    if saved is not None and saved not in events:
        events.append(saved)
    return await run.run_turn(replace(turn, events=(*events, response)), run.ports, run.agent)


def _find_saved(turn: Turn) -> ToolReturned | None:
    """Return the plan that an attempt saved before it died."""
    if any(isinstance(event, ModelResponded) for event in turn.events):
        return None
    found = (event for event in turn.events if isinstance(event, ToolReturned) and event.call_key == _key(turn))
    return next((event for event in found if _data(event).get("content")), None)


def _as_response(text: str) -> ModelResponded:
    """Return the plan's answer as a model response that has no token counts."""
    return ModelResponded(step=0, text=text)


def _data(saved: ToolReturned) -> dict[str, object]:
    data = (read_object(saved.content) or {}).get("data")
    return data if isinstance(data, dict) else {}


def _result(turn: Turn) -> ToolReturned:
    return ToolReturned(step=0, call_key=_key(turn), call_id=_key(turn), name=SAVED, content="")


def _key(turn: Turn) -> str:
    return f"{turn.id}/plan/0"


def _words_asked(turn: Turn) -> str:
    said = [item.text for event in turn.events if isinstance(event, TurnStarted) for item in event.items]
    return "\n".join(text for text in said if text.strip())


def _talk(turn: Turn) -> list[Item]:
    """Return the latest talk without tool calls, as context for the plan."""
    talk: list[Item] = []
    for item in turn.history[-HISTORY_ITEMS:]:
        if isinstance(item, UserItem):
            talk.append(item)
        elif isinstance(item, AssistantItem) and item.text.strip():
            talk.append(AssistantItem(item.text))
    return talk


PLAN_BLOCK = (
    '{"insights": [{"type": "progress|plateau|streak|suggestion|milestone", "title": "...", "description": "...", '
    '"skill": "its name, or null"}], "sessions": [{"date": "YYYY-MM-DD", "skill": "its name", "minutes": 30}]}'
)
"""The data block that a model writes behind its plan."""


def _bounds_text(frame: PlanFrame) -> str:
    """Return the longest session of each skill."""
    return ", ".join(f"{minutes} min of {skill}" for skill, minutes in frame.most_minutes.items())


def _conditions_of(frame: PlanFrame) -> str:
    """Return what the person has ruled out, as a sentence of theirs."""
    if not (kept := conditions_text(DEFAULT, frame.conditions)):
        return ""
    return f"My conditions, which the plan must keep: {kept}. "


def plan_request(prefetched: Prefetched, language: str, asked: str) -> UserItem:
    """Return the one message of the plan's model call: what the person asked, what to write, and the data."""
    frame = prefetched.frame
    return UserItem(
        f"{asked}\n\n"
        f"Write my weekly plan in {NAMES[language]}, in four sections: summary, plan, focus, goal. Plan the days from "
        f"{frame.days[0]} to {frame.days[-1]}, no others. {_conditions_of(frame)}No session over "
        f"{_bounds_text(frame)}; split the "
        "time between skills as I do; name an exercise of that skill. My data is below, read just now; use no other "
        "numbers. You have no tools in this answer, and the plan is saved for me. Behind the plan write, for the "
        "records and not for me, two to four findings of yours and every session of the plan, in exactly this form:\n\n"
        f"```plan\n{PLAN_BLOCK}\n```\n\n"
        f"My data:\n\n```json\n{prefetched.model_dump_json()}\n```"
    )
