"""A weekly plan by prefetch: three reads at once, one model call without tools, and the plan is kept as it is said.

The loop needs at least three model calls for the same (ask for the data, keep the plan, answer). Whatever this short
way cannot do, it hands to the loop: a failed or cut response, a message that came in meanwhile, a stop.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

import structlog
from pydantic import BaseModel, ConfigDict

from agent.answers import failure_text
from agent.bounded import Deadline, Interrupted, run_bounded
from agent.calendar import context_of, today_of, week_of
from agent.coach.changes import SaveWeeklyPlan
from agent.coach.journey import journey_report
from agent.coach.patterns import MAX_SESSIONS, patterns_report
from agent.coach.practice import PracticeReader
from agent.coach.reports import JourneyReport, PatternsReport, SkillsReport, skills_report
from agent.coach.rule_plan import insights_of
from agent.coach.texts import detect
from agent.errors import FailureKind
from agent.journal import Journal
from agent.language import NAMES, language_of
from agent.ports import (
    ModelAtWork,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    Principal,
    TextDelta,
    TextDiscarded,
    Turn,
    TurnPort,
)
from agent.recoveries import Recoveries
from agent.responses import Text, classify
from agent.rungs import Rung
from agent.transcript import (
    AssistantItem,
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    ToolReturned,
    TurnStarted,
    UserItem,
)
from agent.turn_run import Agent

log = structlog.get_logger()

PLAN_S = 60.0
"""The reads and the one model call together take no longer, a local model's work not counted; then the loop takes
over with its own deadline."""

HISTORY_ITEMS = 10
SAVED = "save_weekly_plan"

RunTurn = Callable[[Turn, TurnPort, Agent], Awaitable[EndReason]]


class Prefetched(BaseModel):
    """Everything a weekly plan is written from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skills: SkillsReport
    journey: JourneyReport
    patterns: PatternsReport


async def run_plan_turn(
    turn: Turn, port: TurnPort, agent: Agent, reader: PracticeReader, run_turn: RunTurn
) -> EndReason:
    """Answer with a weekly plan and keep it; from wherever the turn's journal stands.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    saved = _find_saved(turn)
    if saved is not None:
        return await _finish(turn, port, agent, run_turn, saved, _as_response(saved))
    if not all(isinstance(event, TurnStarted) for event in turn.events):
        return await run_turn(turn, port, agent)  # the loop had begun
    deadline = Deadline(PLAN_S, agent.limits.working_s, asyncio.get_running_loop().time)
    journal = Journal(turn.id, turn.events, port)
    recoveries = Recoveries(journal, agent.model.name)
    try:
        writing = _write(turn, port, agent, reader, deadline, recoveries)
        data, response = await run_bounded(writing, deadline.remaining_s, port.until_stopped)
    except (ModelFailure, TimeoutError, Interrupted) as failure:
        recoveries.abandon()
        if isinstance(failure, ModelFailure) and failure.kind is FailureKind.TIMEOUT and not failure.retryable:
            await recoveries.write()
            text = failure_text(agent.texts, failure, turn.principal.locale)
            await port.finish(EndReason.MODEL_ERROR, text, None, text)
            return EndReason.MODEL_ERROR  # the server worked on it for as long as it may: it does not begin anew
        await _hand_over(port, recoveries, failure)
        return await run_turn(replace(turn, events=tuple(journal.events)), port, agent)
    if not isinstance(classify(response), Text):
        recoveries.discard(response)
        await _hand_over(port, recoveries, None)
        return await run_turn(replace(turn, events=tuple(journal.events)), port, agent)
    await recoveries.write()
    turn = replace(turn, events=tuple(journal.events))
    returned = await port.apply(_command(turn, agent, data, response.text), _result(turn))
    return await _finish(turn, port, agent, run_turn, returned, response)


async def _write(
    turn: Turn, port: TurnPort, agent: Agent, reader: PracticeReader, deadline: Deadline, recoveries: Recoveries
) -> tuple[Prefetched, ModelResponded]:
    """The data, and what the model makes of it."""
    now = agent.clock()
    data = await prefetch(reader, turn.principal, now)
    asked = _words_asked(turn)
    language = _language(turn, asked)
    request = ModelRequest(
        system=agent.prompt(turn.principal, now, turn.hints),
        items=(*_talk(turn), plan_request(data, language, asked or "/plan")),
        max_output_tokens=agent.limits.max_output_tokens,
        context=replace(context_of(turn.principal, now, data), locale=language),
    )
    recoveries.begin(request)

    def hear(event: ModelEvent) -> None:
        recoveries.hear(event)
        if isinstance(event, TextDelta | TextDiscarded):
            port.progress(event)
        elif isinstance(event, ModelAtWork):
            deadline.hold(event.on)

    return data, await agent.model.respond(request, hear)


async def _hand_over(port: TurnPort, recoveries: Recoveries, failure: BaseException | None) -> None:
    """Nothing but what it cost was journaled: the loop does all of it."""
    why = str(failure) if failure else "no text"
    log.info("plan_handed_over", error=why)
    port.progress(TextDiscarded())
    recoveries.note(Rung.HANDED_OVER, why[:200])
    await recoveries.write()


async def _finish(
    turn: Turn, port: TurnPort, agent: Agent, run_turn: RunTurn, saved: ToolReturned, response: ModelResponded
) -> EndReason:
    """End with the plan; where the person said something meanwhile, the plan stands and the loop reads on."""
    if await port.finish(EndReason.COMPLETED, response.text, response):
        return EndReason.COMPLETED
    await port.record(response)
    events: list[JournalEvent] = list(turn.events)
    if saved not in events:
        events.append(saved)
    return await run_turn(replace(turn, events=(*events, response)), port, agent)


def _find_saved(turn: Turn) -> ToolReturned | None:
    """The kept plan of an attempt that died before its end."""
    if any(isinstance(event, ModelResponded) for event in turn.events):
        return None
    found = (event for event in turn.events if isinstance(event, ToolReturned) and event.call_key == _key(turn))
    return next((event for event in found if _content(event)), None)


def _as_response(saved: ToolReturned) -> ModelResponded:
    """What the model had said; its tokens are not known any more."""
    return ModelResponded(step=0, text=_content(saved))


def _content(saved: ToolReturned) -> str:
    read = json.loads(saved.content)
    data = read.get("data") if isinstance(read, dict) else None
    return str(data.get("content") or "") if isinstance(data, dict) else ""


def _command(turn: Turn, agent: Agent, data: Prefetched, text: str) -> SaveWeeklyPlan:
    week = week_of(today_of(turn.principal, agent.clock()), turn.principal.week_start)
    insights = insights_of(_language(turn, _words_asked(turn)), data.journey, data.patterns)
    return SaveWeeklyPlan(week, text, insights, tuple(skill.id for skill in data.skills.skills))


def _result(turn: Turn) -> ToolReturned:
    return ToolReturned(step=0, call_key=_key(turn), call_id=_key(turn), name=SAVED, content="")


def _key(turn: Turn) -> str:
    return f"{turn.id}/plan/0"


def _words_asked(turn: Turn) -> str:
    said = [item.text for event in turn.events if isinstance(event, TurnStarted) for item in event.items]
    return "\n".join(text for text in said if text.strip())


def _language(turn: Turn, asked: str) -> str:
    """The language of the words behind `/plan`, else the person's."""
    return detect(asked.removeprefix("/plan")) or language_of(turn.principal.locale)


def _talk(turn: Turn) -> list[Item]:
    """What was said lately, without the calls: a plan may have to mind it."""
    talk: list[Item] = []
    for item in turn.history[-HISTORY_ITEMS:]:
        if isinstance(item, UserItem):
            talk.append(item)
        elif isinstance(item, AssistantItem) and item.text.strip():
            talk.append(AssistantItem(item.text))
    return talk


# ---------------------------------------------------------------- the data


async def prefetch(reader: PracticeReader, principal: Principal, now: datetime) -> Prefetched:
    """The three reports, read side by side."""
    async with asyncio.TaskGroup() as reads:
        reading_skills = reads.create_task(reader.skills(principal))
        reading_days = reads.create_task(reader.days(principal))
        reading_sessions = reads.create_task(reader.sessions(principal, limit=MAX_SESSIONS))
    skills, today = reading_skills.result(), today_of(principal, now)
    return Prefetched(
        skills=skills_report(skills),
        journey=journey_report(skills, reading_days.result(), today, principal.week_start),
        patterns=patterns_report(reading_sessions.result(), today),
    )


def plan_request(prefetched: Prefetched, language: str, asked: str) -> UserItem:
    """The one message of the plan's model call: what the person asked, what to write, and the data."""
    return UserItem(
        f"{asked}\n\n"
        f"Write my weekly plan in {NAMES[language]}, in four sections: summary, plan, focus, goal. My data is below, "
        "read just now; use no other numbers. You have no tools in this answer, and the plan is saved for me.\n\n"
        f"```json\n{prefetched.model_dump_json()}\n```"
    )
