"""Answers by voice: who gets them, and which."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from agent.ports import Principal
from agent.voice.config import VoiceConfig
from channels.base import Channel
from channels.errors import Permanent
from channels.messages import Address, Rendered
from gateway.access.policy import AccessSnapshot
from gateway.delivery.message_parts import OutboundMessage
from gateway.sessions.budgets import Budgets
from gateway.sessions.config import BudgetsConfig
from gateway.sessions.speech import Speech, may_speak, spoken_parts
from gateway.store.causes import AnswerOf
from gateway.store.journal import TurnRow, begin_turn, open_session
from gateway.store.outbox import Action, OutboxRow, PartState, file_of, speech_id
from gateway.store.tables.turns import usage_days
from tests.fakes.audio_server import Answer, AudioServer
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import quick_store

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
CHAT = Address("sim", "main", "p1")
TURN = TurnRow("t1", "default", "s1", "u1", "chat", CHAT, None, NOW)
ANSWER = OutboundMessage(CHAT, AnswerOf("t1"), "Well **done**, _Ana_.")
(PART,) = spoken_parts(ANSWER, "t1", 100, 1)
ROW = OutboxRow(1, "default", PART, "k", PartState.SENDING, attempts=1, created_at=NOW)
WANTS = Principal("u1", "default", wants_voice=True)


class Media(FakeChannel):
    max_media_bytes = 1_000_000


def test_an_answer_is_spoken_without_its_markup_behind_its_text_if_it_is_short() -> None:
    assert (1, Action.SEND, Rendered(""), True) == (PART.number, PART.action, PART.rendered, PART.is_speech)
    assert ["Well done, Ana."] == [voice.description for voice in PART.media]
    assert [] == spoken_parts(ANSWER, "t1", 5, 1) == spoken_parts(replace(ANSWER, text="---"), "t1", 0, 1)


@pytest.mark.parametrize(
    ("channel", "principal", "may"),
    [
        (Media(), WANTS, True),
        (Media(), replace(WANTS, wants_voice=False), False),
        (Media(), replace(WANTS, in_group=True), False),
        (Media(name="web"), WANTS, False),
        (FakeChannel(), WANTS, False),
    ],
)
def test_it_is_spoken_in_direct_chats_of_platforms_to_those_who_want_it(
    channel: Channel, principal: Principal, may: bool
) -> None:
    assert may is may_speak(channel, principal)


async def speak(path: Path, audio: AudioServer, caps: dict[str, Any] | None = None, **config: Any) -> Any:
    """Return the voice, the row of its usage and if it is kept; or the reason why there is none."""
    store = await quick_store(path / "tenk.db")
    given = VoiceConfig.model_validate({"speech_url": audio.url, "speech_key": "sk-voice", **config})
    budgets = Budgets(BudgetsConfig.model_validate(caps or {}), store, lambda: NOW)
    speech = Speech(given, store, AccessSnapshot(), {"default": SimpleNamespace(budgets=budgets)}, lambda: NOW)
    try:
        session = await store.commit(open_session, "default", "k", "steer", 1, NOW)
        await store.commit(begin_turn, replace(TURN, session_id=session.id))
        content = await speech.speak(ROW, PART.media[0])
        kept = await store.read(lambda connection: file_of(connection, speech_id("t1")))
        (used,) = await store.read(lambda connection: list(connection.execute(sa.select(usage_days)).mappings()))
        assert content == kept
        return content, used["calls"], used["cost_microusd"]
    except Permanent as refused:
        return refused.reason
    finally:
        await speech.aclose()
        await store.aclose()


async def test_a_voice_is_kept_with_its_cost(tmp_path: Path) -> None:
    async with AudioServer() as audio:
        price = {"speech_usd_per_million_chars": "15"}
        assert (audio.voice.body, 1, 225) == await speak(tmp_path, audio, {"user_usd": "1"}, **price)
        assert ["Bearer sk-voice"] == audio.keys
        asked = {"model": "tts-1", "voice": "alloy", "input": "Well done, Ana.", "response_format": "opus"}
        assert [asked] == audio.spoken


@pytest.mark.parametrize(
    ("answer", "caps", "words"),
    [
        (Answer(status=401), None, "it answers 401"),
        (Answer(body=b"<html>", content_type="text/html"), None, "something else than sound"),
        (Answer(hangs=True), None, "within 1 s"),
        (Answer(), {"user_usd": "0.0001"}, "was not spoken"),
    ],
    ids=["key", "html", "hangs", "cap"],
)
async def test_what_cannot_be_spoken_is_refused_for_good(
    tmp_path: Path, answer: Answer, caps: dict[str, Any] | None, words: str
) -> None:
    async with AudioServer(voice=answer) as audio:
        said = await speak(tmp_path, audio, caps, speech_timeout_s=1, speech_usd_per_million_chars="15")
        assert words in said


async def test_the_voice_of_an_answer_that_is_gone_is_refused(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    speech = Speech(VoiceConfig(speech_url="http://127.0.0.1:9/v1"), store, AccessSnapshot(), {}, lambda: NOW)
    with pytest.raises(Permanent, match="its answer is gone"):
        await speech.speak(ROW, PART.media[0])
    await store.aclose()
