"""What of the coach reads a person's words. How to register: see `tests.attacks.entries`."""

from contextlib import suppress
from datetime import UTC, date, datetime

from agent.coach import intents, log_line, plan_answer, plan_wish, practice, sentences, texts
from agent.coach.log_line import LogLineError
from agent.coach.offline import OfflineCoach
from agent.coach.plan_data import PlanFrame
from agent.coach.request_view import listen
from agent.coach.understanding import reading
from agent.coach.understanding.entries import Practised
from agent.ports import ModelRequest, RequestContext, SystemPrompt, ToolSpec
from agent.transcript import AssistantItem, Item, NoteItem, ToolCall, ToolItem, UserItem
from tests.attacks.entries import Entry

TODAY = date(2026, 3, 4)
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SKILLS = ("Guitar", "Piano", "Guitar scales", "a", "my")
CONTEXT = RequestContext("en", datetime(2026, 3, 4, 12, tzinfo=UTC))
READ = '{"success":true,"data":{"skills":[]},"error":null}'
TOOLS = tuple(ToolSpec(name, name, {}) for name in ("get_user_skills", "log_practice", "create_skill", "edit_session"))
PIECE_CHARS = 8


def pieces(text: str) -> list[str]:
    """The text in pieces of the same length."""
    return [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]


def parse_log(text: str) -> None:
    """As `/log` does."""
    with suppress(LogLineError):
        log_line.parse_log(text, TODAY, SKILLS)


def log_then_text(text: str) -> None:
    """The text behind a duration, where notes stand."""
    parse_log(f"45m {text}")


def read_correction(text: str) -> None:
    """As the offline coach does."""
    with suppress(LogLineError):
        log_line.read_correction(text, TODAY, SKILLS)


def find_day(text: str) -> None:
    """Inside a sentence."""
    for said in (text, f"yesterday {text}", f"{text} monday"):
        with suppress(LogLineError):
            log_line.find_day(said, TODAY)


def sentence(text: str) -> None:
    """A sentence about practice, and one that has a duration in it."""
    sentences.read_sentence(text, SKILLS)
    sentences.shape_of(f"45m {text[: sentences.MAX_CHARS]}", SKILLS)


def heard(text: str) -> None:
    """A message that may tell of practice, for somebody who has skills of such names."""
    for said in (text, f"I practised {text}", f"45m {text}", f"gutiar 45 min, {text}"):
        reading.hear(said[: reading.MAX_CHARS], SKILLS, NOW, "en")
    reading.may_be_practice(text)


def completed(text: str) -> None:
    """The answer to which skill it was, and to how long it was."""
    entry = Practised(45, "Guitar", TODAY)
    for said in (text, f"it was {text}", "gutiar"):
        reading.add_skill(said[: reading.MAX_CHARS], entry, SKILLS)
        reading.add_amount(said[: reading.MAX_CHARS], entry)


def clean_name(text: str) -> None:
    """As a tool's argument."""
    with suppress(practice.PracticeRefused):
        practice.clean_name(text)


def plan_words(text: str) -> None:
    """Behind the command, and a wish in words."""
    known = [practice.Skill(name, name, "", "", 1, False, 0) for name in SKILLS]
    plan_wish.read_wish(f"/plan {text}", known)
    plan_wish.read_wish(text, known)


def written_plan(text: str) -> None:
    """A plan as a model may write it, whole and piece by piece."""
    frame = PlanFrame(
        week=TODAY, days=(TODAY,), is_next=False, longest_session_minutes=1, max_session_minutes=1, minutes_done=0
    )
    for written in (text, f"{plan_answer.FENCE}\n{text}", text.join((plan_answer.FENCE, plan_answer.FENCE))):
        plan_answer.read_plan(written, (), frame)
    stream = plan_answer.PlanStream()
    for piece in pieces(text):
        stream.take(piece)
    stream.rest()


def conversation(text: str) -> tuple[Item, ...]:
    """One with the text as everybody's words."""
    call = ToolCall("c1", "get_user_skills", text)
    said = (UserItem(text), AssistantItem(text, (call,)), ToolItem("c1", "get_user_skills", READ), NoteItem(text))
    return (*said, AssistantItem(text), UserItem(text), AssistantItem("", (call,)), ToolItem("c1", "a", text))


def offline(text: str) -> None:
    """The offline coach, asked this first, and then once its tool has come back."""
    call = ToolCall("c1", "get_user_skills", "{}")
    for more in ((), (AssistantItem("", (call,)), ToolItem("c1", "get_user_skills", READ))):
        OfflineCoach().answer(ModelRequest(SystemPrompt(), (UserItem(text), *more), TOOLS, 100, context=CONTEXT))


ENTRIES: dict[str, Entry] = {
    "agent.coach.log_line:parse_log": Entry(parse_log, log_line.MAX_LINE_CHARS),
    "agent.coach.log_line:parse_log behind a duration": Entry(log_then_text, log_line.MAX_LINE_CHARS),
    "agent.coach.log_line:find_day": Entry(find_day),
    "agent.coach.sentences:read_sentence": Entry(sentence, sentences.MAX_CHARS),
    "agent.coach.understanding.reading:hear": Entry(heard, reading.MAX_CHARS),
    "agent.coach.understanding.reading:add_skill": Entry(completed, reading.MAX_CHARS),
    "agent.coach.log_line:read_correction": Entry(read_correction),
    "agent.coach.intents:read_request": Entry(intents.read_request, 2000),
    "agent.coach.plan_wish:read_wish": Entry(plan_words, plan_wish.MAX_CHARS),
    "agent.coach.plan_wish:asks_for_plan": Entry(plan_wish.asks_for_plan, 2000),
    "agent.coach.plan_answer:read_plan": Entry(written_plan),
    "agent.coach.practice:kind_of_practice": Entry(practice.kind_of_practice),
    "agent.coach.request_view:listen": Entry(lambda text: listen(ModelRequest(SystemPrompt(text), conversation(text)))),
    "agent.coach.offline:OfflineCoach.answer": Entry(offline),
    "agent.coach.texts:detect": Entry(texts.detect),
    "agent.coach.practice:emoji_for": Entry(practice.emoji_for),
    "agent.coach.practice:clean_name": Entry(clean_name),
}

EXCUSED: dict[str, str] = {
    "agent.coach.prose": "writes about a person's skills, whose names have 64 characters at most",
    "agent.coach.numbers": "writes about a person's skills, whose names have 64 characters at most",
    "agent.coach.rule_plan": "writes about a person's skills, whose names have 64 characters at most",
    "agent.coach.tools": "arguments whose schema bounds them to 200 characters",
    "agent.coach.sentences:_logs": "our own patterns, built once at the start",
    "agent.coach.tasks:_leads": "looks for our own few words, which have a fixed length, in one answer",
    "agent.coach.tasks:_holds": "compares what was logged with what is right, three fields each",
    "agent.coach.offline_work:Work.change_each": "leaves out what a few calls, of five arguments at most, do not say",
    "agent.coach.offline_work:Work.tell_each": "puts together the words on the few entries of one message",
    "agent.coach.understanding.phrases:phrases_by_first_word": "our own tables, put together once at the start",
    "agent.coach.understanding.skills:_forms": "our own tables, put together once at the start",
    "agent.coach.offline:_yes_or_no": "lower-cases two short labels of ours",
    "agent.coach.plan:_answer": "puts the words of one plan behind each other, in one walk",
    "agent.coach.plan:_notice_of": "looks whether one text begins with two of ours",
    "agent.coach.kept_plan": "writes about a plan's sessions and findings, at most 60 of bounded length",
}
