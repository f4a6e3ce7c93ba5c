"""Context: the request's content, and its stable beginning."""

from hypothesis import given
from hypothesis import strategies as st

from agent.context.layers import trim_history
from agent.context.sections import Section, compose
from agent.context.sizes import estimate_tokens
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, UserItem
from tests.unit.agent.test_transcript import refuse

CALL = (AssistantItem("", (ToolCall("c", "t", "{}"),)), ToolItem("c", "t", "{}"))
turns = st.lists(
    st.sampled_from(
        [
            (UserItem("q"), AssistantItem("a")),
            (UserItem("q"), *CALL, AssistantItem("a")),
            (UserItem("q"), *CALL, UserItem("s"), NoteItem("n"), AssistantItem("a")),
        ]
    ),
    max_size=8,
)


@given(turns, st.integers(0, 30), st.floats(-10, 300))
def test_f44_a_trimmed_history_is_valid_and_newest(made, most, tokens):
    history = [item for turn in made for item in turn]
    # call ids repeat from turn to turn here: number them
    history = [_numbered(item, at) for at, item in enumerate(history)]
    kept = trim_history(history, most, tokens)
    assert list(kept) == history[len(history) - len(kept) :]
    assert len(kept) <= most
    assert estimate_tokens(kept) <= max(tokens, 0)
    assert not kept or isinstance(kept[0], UserItem)
    assert "" == refuse(kept)


def _numbered(item, at):
    if isinstance(item, AssistantItem) and item.tool_calls:
        return AssistantItem("", (ToolCall(f"c{at}", "t", "{}"),))
    return ToolItem(f"c{at - 1}", "t", "{}") if isinstance(item, ToolItem) else item


def test_the_prompt_begins_with_the_same_bytes_for_everybody():
    prompts = [
        compose(
            {
                Section.PERSON: f"This is {name}.",
                Section.SAFETY: "Be kind.",
                Section.TOOLS: "",
                Section.IDENTITY: "I am a coach.",
            }
        )
        for name in ("Ana", "Bo")
    ]
    assert ["I am a coach.\n\nBe kind."] * 2 == [prompt.static for prompt in prompts]
    assert ["This is Ana.", "This is Bo."] == [prompt.dynamic for prompt in prompts]
    assert "I am a coach.\n\nBe kind.\n\n---\n\nThis is Bo." == str(prompts[1])
