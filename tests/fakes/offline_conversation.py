"""A conversation with the offline coach, through the real loop and over the store's own functions."""

from agent.coach.prompt import coach_prompt
from agent.coach.reader.reader import OfflineReader
from agent.coach.tools import CoachTools
from agent.journal import suggested_replies
from agent.loop import Agent, run_turn
from agent.models.offline import OfflineModel
from agent.ports import Turn, TurnEvent
from agent.tools.base import tools_of
from agent.transcript import EndReason, Item, ModelResponded, SuggestedReply, fold
from agent.turn_progress import ToolStarted
from gateway.coach import practice_rows, writer
from gateway.coach.product import COACH
from gateway.texts import HARNESS
from tests.fakes.practice_reader import NOW, ConnectedPractice
from tests.fakes.turn_port import FakeTurnPort, a_turn


class Conversation:
    """A person who talks to the offline coach, turn after turn."""

    def __init__(self, practice: ConnectedPractice) -> None:
        self.practice = practice
        self.history: list[Item] = []
        self.agent = Agent(
            texts=HARNESS,
            model=OfflineModel(OfflineReader()),
            prompt=coach_prompt,
            tools=tools_of(CoachTools(practice, writer)),
            limits=COACH.limits,
            clock=lambda: NOW,
        )
        self.port = FakeTurnPort()

    async def say(self, text: str, *more: str, later: dict[str, str] | None = None) -> str:
        """Return the answer to these texts; say `later` as soon as the tool of its name starts."""
        port = self.port = FakeTurnPort(run_effect=self.practice.as_result)
        for each in more:
            port.say(each)
        waiting = dict(later or {})

        def watch(event: TurnEvent) -> None:
            if isinstance(event, ToolStarted) and event.name in waiting:
                port.say(waiting.pop(event.name))

        port.on_progress = watch
        assert EndReason.COMPLETED == await run_turn(self.turn(port, text), port.ports, self.agent)
        self.history += fold(port.events)
        return port.answer

    def turn(self, port: FakeTurnPort, text: str) -> Turn:
        """Return a turn that resumes what the port has journaled, or begins with this text."""
        return a_turn(port, text, self.history, self.practice.principal)

    @property
    def calls(self) -> list[list[str]]:
        responses = (event for event in self.port.events if isinstance(event, ModelResponded))
        return [[call.name for call in event.tool_calls] for event in responses if event.tool_calls]

    @property
    def suggested(self) -> tuple[SuggestedReply, ...]:
        return suggested_replies(self.port.events)

    @property
    def logged(self) -> list[tuple[str, int]]:
        names = {skill.id: skill.name for skill in self._skills()}
        return [(names[one.skill_id], one.minutes) for one in self._sessions()]

    @property
    def newest(self):
        return self._sessions()[0]

    def _skills(self):
        return practice_rows.all_skills(self.practice.connection, self.practice.principal, True)

    def _sessions(self):
        return practice_rows.sessions(self.practice.connection, self.practice.principal, None, None, 500)
