"""The fold of the journal: any journal gives a transcript that a strict API takes."""

from hypothesis import given
from hypothesis import strategies as st

from agent.fallbacks import Fallback, Recovered
from agent.transcript import (
    JOURNAL_EVENT,
    NO_RESULT,
    RULES_ANSWERED,
    AssistantItem,
    CallOutcome,
    EndReason,
    ModelResponded,
    NoteItem,
    Nudged,
    NudgeReason,
    Steered,
    StopReason,
    SuggestedReply,
    ToolCall,
    ToolIntended,
    ToolItem,
    ToolResultRewritten,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    UserItem,
    answer_text,
    fold,
)

texts = st.sampled_from(["", " ", "a", "b c"])
ids = st.sampled_from(["", "a", "b", "c"])
keys = st.sampled_from(["t/0/0", "t/0/1", "t/1/0", "odd"])
steps = st.integers(0, 3)
people = st.lists(st.builds(UserItem, texts), max_size=2).map(tuple)
made_calls = st.builds(ToolCall, ids, st.just("tool"), st.just("{}"))
events = st.one_of(
    st.builds(TurnStarted, people),
    st.builds(
        ModelResponded,
        steps,
        texts,
        st.lists(made_calls, max_size=3).map(tuple),
        stop=st.sampled_from(StopReason),
        replies=st.lists(st.builds(SuggestedReply, texts, texts), max_size=2).map(tuple),
    ),
    st.builds(ToolIntended, steps, keys, st.just("tool"), st.just("{}")),
    st.builds(ToolReturned, steps, keys, ids, st.just("tool"), st.just("{}"), st.sampled_from(CallOutcome)),
    st.builds(ToolResultRewritten, steps, keys, ids, st.just('{"rewritten":1}')),
    st.builds(Steered, steps, people),
    st.builds(Nudged, steps, texts, st.sampled_from(NudgeReason)),
    st.builds(TurnEnded, st.sampled_from(EndReason), texts),
)


def refuse(items):
    seen = set()
    waiting = []
    for at, item in enumerate(items):
        if waiting:
            if not isinstance(item, ToolItem) or item.call_id != waiting.pop(0):
                return f"{at}: not the result that is due"
            continue
        if isinstance(item, ToolItem):
            return f"{at}: a result without a call"
        if isinstance(item, AssistantItem):
            if at and isinstance(items[at - 1], AssistantItem):
                return f"{at}: two assistant items in a row"
            if not item.text.strip() and not item.tool_calls:
                return f"{at}: empty"
            waiting = [call.id for call in item.tool_calls]
            if "" in waiting or seen & set(waiting) or len(set(waiting)) < len(waiting):
                return f"{at}: a call id twice or empty"
            seen |= set(waiting)
    return "calls without results" if waiting else ""


@given(st.lists(events, max_size=25))
def test_i8_any_journal_folds_to_what_a_strict_api_takes(journal):
    items = fold(journal)
    assert "" == refuse(items)
    assert items == fold(journal)


@given(st.lists(events, max_size=25))
def test_no_words_are_lost_or_doubled(journal):
    said = [item for event in journal if isinstance(event, TurnStarted | Steered) for item in event.items]
    assert said == [item for item in fold(journal) if isinstance(item, UserItem)]


@given(st.lists(events, max_size=25))
def test_events_survive_the_store(journal):
    assert journal == [JOURNAL_EVENT.validate_json(JOURNAL_EVENT.dump_json(event)) for event in journal]


def test_an_event_of_the_first_version_is_read():
    assert Nudged(1, "x") == JOURNAL_EVENT.validate_json('{"kind":"nudged","step":1,"text":"x"}')


def test_a_response_of_the_first_version_suggests_nothing():
    before = JOURNAL_EVENT.validate_json('{"kind":"model_responded","step":1,"text":"x"}')
    assert ModelResponded(1, "x") == before
    assert fold([before]) == fold([ModelResponded(1, "x", replies=(SuggestedReply("Yes", "yes"),))])


A, B = ToolCall("a", "tool", "{}"), ToolCall("b", "tool", "{}")


def result(id_, content="{}"):
    return ToolReturned(0, f"t/0/{id_}", id_, "tool", content)


def test_results_stand_in_the_order_asked_and_steering_behind_them():
    journal = [
        TurnStarted((UserItem("q"),)),
        ModelResponded(0, "", (A, B)),
        result("b", "2"),
        Steered(0, (UserItem("s"),)),
        result("b", "again"),
        result("orphan"),
        ModelResponded(1, "done"),
    ]
    assert (
        UserItem("q"),
        AssistantItem("", (A, B)),
        ToolItem("a", "tool", NO_RESULT),
        ToolItem("b", "tool", "2"),
        UserItem("s"),
        AssistantItem("done"),
    ) == fold(journal)


def test_a_rewritten_result_is_what_the_model_sees():
    journal = [ModelResponded(0, "", (A,)), result("a", "raw"), ToolResultRewritten(0, "t/0/0", "a", "shown")]
    assert ToolItem("a", "tool", "shown") == fold(journal)[1]


def test_a_failed_end_closes_the_turn_with_what_the_person_read():
    start, first = TurnStarted((UserItem("q"),)), ModelResponded(0, "First.")
    steered, ended = Steered(1, (UserItem("s"),)), TurnEnded(EndReason.MODEL_ERROR, "First.\n\nSorry.")
    assert (
        UserItem("q"),
        AssistantItem("First."),
        UserItem("s"),
        AssistantItem("Sorry."),
    ) == fold([start, first, steered, ended])


def test_a_completed_end_adds_nothing():
    journal = [TurnStarted((UserItem("q"),)), ModelResponded(0, "A <b>."), TurnEnded(EndReason.COMPLETED, "A .")]
    assert (UserItem("q"), AssistantItem("A <b>.")) == fold(journal)


def test_a_stop_in_mid_stream_keeps_what_was_said():
    journal = [TurnStarted((UserItem("q"),)), TurnEnded(EndReason.STOPPED, "half\n\n(Stopped.)")]
    assert (UserItem("q"), AssistantItem("half\n\n(Stopped.)")) == fold(journal)


def test_notes_and_empty_responses():
    journal = [TurnStarted((UserItem("q"),)), ModelResponded(0, " "), Nudged(0, "speak"), ModelResponded(1, "ok")]
    assert (UserItem("q"), NoteItem("speak"), AssistantItem("ok")) == fold(journal)


def test_spoken_joins_answers_and_continues_cut_ones():
    journal = [
        ModelResponded(0, "a", stop=StopReason.LENGTH),
        ModelResponded(1, "b"),
        ModelResponded(2, "looking", (A,)),
        ModelResponded(3, "c"),
    ]
    assert "ab\n\nc" == answer_text(journal)


def test_the_gateways_words_at_an_end_are_not_an_answer():
    ended = TurnEnded(EndReason.MODEL_ERROR, "Half.\n\nMy model is busy.", "My model is busy.")
    journal = [TurnStarted((UserItem("q"),)), ended, TurnStarted((UserItem("again"),))]
    _, said, note, again = fold(journal)
    assert ("Half.", True, "again") == (said.text, note.ends_turn, again.text)
    assert "busy" not in note.text


def test_an_end_that_was_journaled_before_there_were_notes_reads_as_it_did():
    old = b'{"reason":"model_error","text":"My model is busy.","kind":"turn_ended"}'
    ended = JOURNAL_EVENT.validate_json(old)
    assert AssistantItem("My model is busy.") == fold([TurnStarted((UserItem("q"),)), ended])[-1]


def test_a_change_of_model_is_noted_once():
    change = Recovered(0, Fallback.NEXT_MODEL, "openai:other")
    items = fold([TurnStarted((UserItem("q"),)), change, ModelResponded(0, "a"), change, ModelResponded(1, "b")])
    assert 1 == sum(isinstance(item, NoteItem) for item in items)


def test_what_rules_answered_is_not_the_models_own() -> None:
    started, ended = TurnStarted((UserItem("hello"),)), TurnEnded(EndReason.COMPLETED, "I am the offline coach.")
    answered = ModelResponded(0, "I am the offline coach.", model="offline:rules")
    assert (UserItem("hello"), RULES_ANSWERED) == fold((started, answered, ended))
