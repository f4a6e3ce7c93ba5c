"""The coach's routes under `/v1`: practice, skills and weekly plans of one of a key's people.

They read and change what the tools do, by the same reports and commands; a plan is made by a turn of `/plan`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

from aiohttp import web
from pydantic import Field

from agent.calendar import today_of, week_of
from agent.coach.plan_data import plan_week, read_wish
from agent.coach.practice import Insight, PlannedSession, PracticeRefused, Skill, WeeklyPlan
from agent.coach.reports import SkillsReport, skills_report
from agent.ports import Change, LocalEffect, Principal
from channels.clocks import wall_now
from gateway.access.api_keys import Scope
from gateway.coach import practice_rows, writer
from gateway.coach.check_ins import PLAN
from gateway.coach.practice import StoredPractice
from gateway.http.api.chat import MOST_WAIT_S, ChatRequest, answer_of, say
from gateway.http.api.conversations import Conversations, new_handle
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import NAME, ApiModel, ApiRequest, ApiRoute, WhoseQuery
from gateway.http.api.server import to_json
from gateway.http.api.turns import TurnAnswer
from gateway.store.engine import Connection, Store


class PracticeQuery(WhoseQuery):
    """Parameters of a request for practice: the person, how far back, and the skill."""

    days: int = Field(30, ge=1, le=3660)
    skill: str | None = Field(None, max_length=200, description="Id or name; none: all.")


class SkillsQuery(WhoseQuery):
    """Parameters of a request for skills."""

    include_archived: bool = Field(False, description="Include archived skills.")


class PlansQuery(WhoseQuery):
    """Parameters of a request for plans: the person, and how many."""

    limit: int = Field(12, ge=1, le=200)


class PlanQuery(WhoseQuery):
    """Parameters of a request for a plan: the person, and the week."""

    day: date | None = Field(None, description="Any day of the week; none: today.")


class PracticeEntry(ApiModel):
    """One logged stretch of practice."""

    id: str
    skill_id: str
    skill: str
    minutes: int
    day: date
    notes: str


class PracticeLogAnswer(ApiModel):
    """Logged practice, the newest first."""

    sessions: tuple[PracticeEntry, ...]
    total_minutes: int


class PracticeRequest(ApiModel):
    """Practice to log."""

    skill: str = Field(min_length=1, max_length=200, description="Name or id; a new name makes a new skill.")
    minutes: int = Field(ge=1, le=1440)
    day: date | None = Field(None, description="None: today, where the person is.")
    notes: str = Field("", max_length=4000)
    user: str | None = Field(None, pattern=NAME)


class LoggedAnswer(ApiModel):
    """The logged entry, and the total of its skill."""

    entry: PracticeEntry
    created_skill: bool
    skill_total_minutes: int


class WeeklyPlanAnswer(ApiModel):
    """The plan of one week."""

    week: date = Field(description="The first day of the person's week.")
    content: str = Field(description="Markdown.")
    insights: tuple[Insight, ...]
    planned: tuple[PlannedSession, ...]


class PlanRequest(ApiModel):
    """A request for a plan."""

    about: str = Field(
        "",
        max_length=200,
        description="The argument of /plan: a skill, `new`, `next`; none: the saved plan, made if there is none.",
    )
    user: str | None = Field(None, pattern=NAME)
    session: str = Field("main", pattern=NAME, description="The conversation in which it is made.")
    wait_s: float = Field(
        120.0, ge=0, le=MOST_WAIT_S, strict=True, description="Seconds to wait; after them 202, and it goes on."
    )


class MadePlanAnswer(ApiModel):
    """The turn that makes a plan, and the plan of its week."""

    turn: TurnAnswer
    plan: WeeklyPlanAnswer | None = Field(
        description="None: it is not there yet, or there is nothing to plan from, as the turn's answer says."
    )


class PlansAnswer(ApiModel):
    """Weekly plans, the newest first."""

    plans: tuple[WeeklyPlanAnswer, ...]


@dataclass(frozen=True, slots=True)
class CoachRoutes:
    """Handlers of the coach's routes."""

    store: Store
    conversations: Conversations
    clock: Callable[[], datetime] = wall_now

    async def practice(self, call: ApiRequest) -> PracticeLogAnswer:
        """Return the practice of a person."""
        query = call.query
        assert isinstance(query, PracticeQuery), "the route table names this model"
        principal = await call.principal(query.user)
        reader = StoredPractice(self.store)
        skills = {skill.id: skill for skill in await reader.skills(principal, include_archived=True)}
        wanted = await self._find(principal, query.skill)
        since = today_of(principal, self.clock()) - timedelta(days=query.days - 1)
        skill_id = None if wanted is None else wanted.id
        found = await reader.sessions(principal, skill_id=skill_id, since=since, limit=10_000)
        entries = tuple(
            PracticeEntry(
                id=session.id, skill_id=session.skill_id, skill=skills[session.skill_id].name,
                minutes=session.minutes, day=session.day, notes=session.notes,
            )
            for session in found if session.skill_id in skills
        )  # fmt: skip
        return PracticeLogAnswer(sessions=entries, total_minutes=sum(entry.minutes for entry in entries))

    async def log(self, call: ApiRequest) -> LoggedAnswer:
        """Log practice, once for each Idempotency-Key."""
        body = call.body
        assert isinstance(body, PracticeRequest), "the route table names this model"
        principal, now = await call.principal(body.user), self.clock()
        effect = LocalEffect(writer.log, body.skill, body.minutes, body.day or today_of(principal, now), body.notes)
        key = f"api:{call.key.id}:{new_handle(call.idempotency_key)}"
        try:
            logged = await self.store.commit(lambda tx: writer.once(Change(tx, principal, key, now), effect))
        except PracticeRefused as refused:
            raise ApiRefusal(409, "refused", str(refused), "Change what it names.") from None
        entry = PracticeEntry(
            id=logged["session_id"], skill_id=logged["skill_id"], skill=logged["skill"], minutes=logged["minutes"],
            day=date.fromisoformat(logged["date"]), notes=logged["notes"],
        )  # fmt: skip
        total = logged["total_minutes"]
        return LoggedAnswer(entry=entry, created_skill=logged["created_skill"], skill_total_minutes=total)

    async def skills(self, call: ApiRequest) -> SkillsReport:
        """Return the skills of a person, with levels."""
        query = call.query
        assert isinstance(query, SkillsQuery), "the route table names this model"
        principal = await call.principal(query.user)
        reader = StoredPractice(self.store)
        return skills_report(await reader.skills(principal, include_archived=query.include_archived))

    async def plans(self, call: ApiRequest) -> PlansAnswer:
        """Return the weekly plans of a person."""
        query = call.query
        assert isinstance(query, PlansQuery), "the route table names this model"
        principal = await call.principal(query.user)
        found = await self.store.read(partial(practice_rows.plans, principal=principal, limit=query.limit))
        return PlansAnswer(plans=tuple(map(_plan, found)))

    async def plan(self, call: ApiRequest) -> WeeklyPlanAnswer:
        """Return a person's plan of one week."""
        query = call.query
        assert isinstance(query, PlanQuery), "the route table names this model"
        principal = await call.principal(query.user)
        week = week_of(query.day or today_of(principal, self.clock()), principal.week_start)
        found = await StoredPractice(self.store).plan(principal, week)
        if found is None:
            raise ApiRefusal(404, "not_found", f"there is no plan for the week of {week}", "POST /v1/plans makes one.")
        return _plan(found)

    async def make_plan(self, call: ApiRequest) -> MadePlanAnswer | web.StreamResponse:
        """Run `/plan` as the person. Return its turn, and the saved plan."""
        body = call.body
        assert isinstance(body, PlanRequest), "the route table names this model"
        said = ChatRequest(
            message=f"/{PLAN} {body.about}".strip(),
            user=body.user,
            session=body.session,
            stream=False,
            steps=False,
            wait_s=body.wait_s,
        )
        turn = await answer_of(self.conversations, await say(self.conversations, call, said), said.wait_s)
        if not turn.is_settled:
            return to_json(MadePlanAnswer(turn=turn, plan=None), 202)
        principal = await call.principal(body.user)
        reader = StoredPractice(self.store)
        wish = read_wish(said.message, await reader.skills(principal))
        plan = await reader.plan(principal, plan_week(principal, turn.asked_at, is_next=wish.is_next))
        return MadePlanAnswer(turn=turn, plan=None if plan is None else _plan(plan))

    async def _find(self, principal: Principal, name_or_id: str | None) -> Skill | None:
        if name_or_id is None:
            return None

        def look(connection: Connection) -> Skill | None:
            return practice_rows.find_skill(connection, principal, name_or_id)

        found = await self.store.read(look)
        if found is None:
            raise ApiRefusal(404, "not_found", "there is no such skill", "GET /v1/skills lists them.", param="skill")
        return found


def _plan(plan: WeeklyPlan) -> WeeklyPlanAnswer:
    return WeeklyPlanAnswer(week=plan.week, content=plan.content, insights=plan.insights, planned=plan.sessions)


def coach_routes(store: Store, conversations: Conversations) -> tuple[ApiRoute, ...]:
    """Return the coach's routes of `/v1`."""
    handlers = CoachRoutes(store, conversations)
    asking = partial(ApiRoute, method="GET", scope=Scope.CHAT, tag="practice")
    return (
        asking(
            path="/v1/practice", summary="What was practised.", handle=handlers.practice, query=PracticeQuery,
            answer=PracticeLogAnswer,
        ),
        ApiRoute(
            method="POST", path="/v1/practice", scope=Scope.CHAT, tag="practice", summary="Log practice.",
            handle=handlers.log, body=PracticeRequest, answer=LoggedAnswer, once=True,
        ),
        asking(
            path="/v1/skills", summary="Skills with their levels.", handle=handlers.skills, query=SkillsQuery,
            answer=SkillsReport,
        ),
        asking(
            path="/v1/plans", summary="Weekly plans, the newest first.", handle=handlers.plans, query=PlansQuery,
            answer=PlansAnswer,
        ),
        asking(
            path="/v1/plans/current", summary="The plan of a week.", handle=handlers.plan, query=PlanQuery,
            answer=WeeklyPlanAnswer,
        ),
        ApiRoute(
            method="POST", path="/v1/plans", scope=Scope.CHAT, tag="practice", summary="Make a weekly plan.",
            handle=handlers.make_plan, body=PlanRequest, answer=MadePlanAnswer, late_status=202, once=True,
        ),
    )  # fmt: skip
