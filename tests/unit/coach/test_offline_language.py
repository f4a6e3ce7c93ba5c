"""The offline coach's language and date are data of the request; in Spanish all is Spanish, also what goes wrong."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.coach.changes import LogPractice
from agent.coach.tools import CoachTools, NoArguments
from agent.loop import run_turn
from agent.models.openai_format import request_body
from agent.ports import ModelRequest, RequestContext, SystemPrompt
from agent.tools.base import Effect, ToolError, tool, tools_of
from agent.transcript import UserItem
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import ANA, NOW, TODAY
from tests.fakes.turn_port import Died, FakeTurnPort


class TestWithoutThePrompt:
    """A person's language and date are data: the prompt is for models that read, and may be worded in any way."""

    @pytest.fixture
    def reworded(self, ana: Conversation) -> Conversation:
        """Ana in Spanish, at a coach with other instructions."""
        ana.practice.principal = replace(ANA, locale="es-MX", timezone="Pacific/Auckland")
        other = SystemPrompt("Answer in: English. Today is Monday, 1999-01-04.")
        ana.agent = replace(ana.agent, prompt=lambda *_: other)
        return ana

    async def test_the_language_is_the_persons_where_the_words_tell_none(self, reworded: Conversation):
        """Not that which the prompt names."""
        assert "Anotado: **45 min**" in await reworded.say("45m guitar")

    async def test_the_date_is_the_persons(self, reworded: Conversation):
        """Their yesterday: it is the 5th in Auckland while it is the 4th in Greenwich."""
        assert "ayer" in await reworded.say("ayer 45m guitar")
        assert TODAY == reworded.newest.day

    @pytest.mark.parametrize("dies_after", [False, True])
    @pytest.mark.parametrize("dies_at", range(4))
    async def test_what_a_crash_cut_goes_on_alike(self, reworded: Conversation, dies_at: int, dies_after: bool):
        """Killed around each commit: one entry, in Spanish, on the same day."""
        port = FakeTurnPort(apply_command=reworded.practice.as_result, dies_at=dies_at, dies_after=dies_after)
        with pytest.raises(Died):
            await run_turn(reworded.turn(port, "ayer 45m guitar"), port, reworded.agent)
        port.dies_at = None
        await run_turn(reworded.turn(port, "ayer 45m guitar"), port, reworded.agent)
        assert "Anotado: **45 min** 🎸 guitar (ayer)" in port.answer
        assert (TODAY, [("guitar", 45)]) == (reworded.newest.day, reworded.logged)

    def test_no_wire_sends_it(self):
        """It is for models in this process."""
        bare = ModelRequest(SystemPrompt(), (UserItem("hi"),))
        told = replace(bare, context=RequestContext("es", NOW, "what was read"))
        bodies = [request_body(request, "m", "max_tokens", usage_in_stream=True) for request in (bare, told)]
        assert bodies[0] == bodies[1]


ENGLISH = (" the ", " you ", " was ", " your ", " my ", " I ", " of ", " to ", " is ", " with ")
"""Words that stand in nearly every English sentence of ours, and in no Spanish one."""

TALK = (
    "hola", "ayuda", "guía", "historial", "45m guitarra", "sí", "¿cuánto llevo?", "habilidades", "historial", "plan",
    "planifica mi semana", "¿y un plan?", "en realidad fueron 60 minutos", "quiero deshacer", "no", "deshacer",
    "gracias", "deshacer", "mi lección dura 45 minutos", "añade una habilidad llamada chelo", "sí", "30m",
    "¿qué?", "45 chelo",
)  # fmt: skip


async def test_a_talk_in_spanish_is_all_spanish(newcomer: Conversation):
    """Whatever is said, asked, planned, corrected and taken back."""
    newcomer.practice.principal = replace(ANA, locale="es")
    for words in TALK:
        answer = await newcomer.say(words)
        assert [] == [found for found in ENGLISH if found in f" {answer} "], (words, answer)


class BrokenTools(CoachTools):
    """Tools of which one refuses in words for a model."""

    @tool(NoArguments, effect=Effect.NONE)
    async def get_journey_stats(self, context, arguments):
        """Refuse."""
        raise ToolError("The moon is in the wrong house.")


class TestWhatGoesWrong:
    """In Spanish, where tools give their reasons in English, to models."""

    @pytest.fixture
    def bea(self, ana: Conversation) -> Conversation:
        """Somebody who writes Spanish, with one entry."""
        ana.practice.principal = replace(ANA, locale="es")
        ana.practice.change(LogPractice("guitar", 45, TODAY - timedelta(days=1)))
        return ana

    @pytest.mark.parametrize(
        ("words", "answer"),
        [
            ("no, 25 horas", "Un día tiene 24 horas"),
            ("no, fueron 0 minutos", "Cero minutos"),
            ("no, 40 minutos, el 2026-03-09", "El 2026-03-09 aún no ha llegado"),
        ],
    )
    async def test_a_correction_that_cannot_be_is_explained(self, bea: Conversation, words: str, answer: str):
        """Nothing is changed."""
        await bea.say("45m guitar")
        assert answer in await bea.say(words)
        assert [("guitar", 45), ("guitar", 45)] == bea.logged

    async def test_a_name_that_is_none_is_explained(self, bea: Conversation):
        """After the yes, as what else a tool refuses."""
        await bea.say(f"añade una habilidad llamada {'x' * 70}")
        assert "Ese nombre es demasiado largo" in await bea.say("sí")

    async def test_a_tools_own_reason_is_a_models_to_read(self, bea: Conversation):
        """English reads it, where there is no other word; Spanish is told that it did not work."""
        bea.agent = replace(bea.agent, tools=tools_of(BrokenTools(bea.practice)))
        assert "No ha funcionado. Inténtalo otra vez." in await bea.say("¿cómo voy?")
        assert "That did not work: The moon" in await bea.say("how am I doing?")
