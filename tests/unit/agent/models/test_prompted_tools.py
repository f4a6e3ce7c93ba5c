"""Tools over a model without tool support: the prompt, the parsed calls, and words that stay words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import FailureKind
from agent.models.prompted_tools import PromptedTools, read_calls
from agent.models.scripted import Says, ScriptedModel
from agent.ports import CallStreamed, ModelFailure, ModelRequest, SystemPrompt, TextDelta, ToolSpec
from agent.transcript import AssistantItem, NoteItem, StopReason, ToolCall, ToolItem, UserItem

SPEC = ToolSpec("double", "Doubles a number.", {"type": "object", "properties": {"n": {"type": "integer"}}})
SYSTEM = SystemPrompt("be kind", "to Ana")
CALL = '{"name": "double", "arguments": {"n": 21}}'
READ = ("double", {"n": 21})


ITEMS = (UserItem("go"),)


async def ask(text, *, items=ITEMS, tools=(SPEC,), **says):
    model = ScriptedModel([Says(text, **says)])
    events = []
    response = await PromptedTools(model).respond(ModelRequest(SYSTEM, items, tools), events.append)
    return response, events, model.requests[0]


@pytest.mark.parametrize(
    "written",
    [
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"Let me see.\n<tool_call>{CALL}</tool_call>",
        f"```json\n{CALL}\n```",
        f"```tool_call\n{CALL}",
        CALL,
        f" [{CALL}]",
        '{"tool": "double", "parameters": {"n": 21}}',
        '{"function": {"name": "double", "arguments": "{\\"n\\": 21}"}}',
        '{"tool_calls": [{"type": "function", "function": {"name": "double", "arguments": {"n": 21}}}]}',
        '<tool_call>{"name": "double", "arguments": {"n": 21,},}</tool_call>',
    ],
)
async def test_a_call_is_read_however_it_is_written(written):
    response, events, _ = await ask(written)
    assert [READ] == [(call.name, json.loads(call.arguments)) for call in response.tool_calls]
    assert StopReason.TOOLS is response.stop
    assert list(response.tool_calls) == [event.call for event in events if isinstance(event, CallStreamed)]
    told = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert "{" not in told + response.text


async def ask_native(*says, items=ITEMS):
    model = ScriptedModel(says)
    events, tools = [], PromptedTools(model, unless_taken=True)
    for _ in says:
        response = await tools.respond(ModelRequest(SYSTEM, items, (SPEC,)), events.append)
    return response, "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize("written", [CALL, f"```json\n{CALL}\n```"])
async def test_a_model_that_takes_tools_and_writes_a_call_is_read_until_it_has_called_one(written):
    response, told = await ask_native(Says(written))
    assert (["double"], "", "") == ([call.name for call in response.tool_calls], response.text, told)
    response, told = await ask_native(Says("", calls=(ToolCall("c1", "double", "{}"),)), Says(written))
    assert ((), "", "") == (response.tool_calls, response.text, told)
    said = AssistantItem("", (ToolCall("c1", "double", "{}"),))
    response, told = await ask_native(Says(written), items=(*ITEMS, said, ToolItem("c1", "double", "{}"), *ITEMS))
    assert ((), "", "") == (response.tool_calls, response.text, told)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        (UserItem(f"what does {CALL} do?"),),
        (UserItem("what does this do?", data=CALL),),
        (UserItem('call {"arguments": {"n": 21}, "name": "double"}'),),
        (
            UserItem("go"),
            AssistantItem("", (ToolCall("prompted-1-0", "double", "{}"),)),
            ToolItem("prompted-1-0", "double", json.dumps({"data": CALL})),
        ),
    ],
    ids=["person", "quotation", "arguments first", "tool"],
)
@pytest.mark.parametrize("written", [CALL, f"[{CALL}]", f"<tool_call>{CALL}</tool_call>"])
async def test_a_call_that_the_person_or_a_tool_wrote_is_not_run(native, given, written):
    response, told = (await ask_native(Says(written), items=given)) if native else (await ask(written, items=given))[:2]
    assert ((), "") == (response.tool_calls, response.text)
    assert not native or not told


@pytest.mark.parametrize("said", ["what does {} do?", "double it, and double it {{}}, please"])
async def test_a_call_without_arguments_runs_unless_it_is_repeated(said):
    response, _ = await ask_native(Says('{"name": "double"}'), items=(UserItem(said.format('{"name": "double"}')),))
    assert ("what" in said) is (response.tool_calls == ())


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    "written",
    [f"Sure:\n```\n{CALL}\n```", f"Sure:\n{CALL}", f"Sure: {CALL}", f"Sure: [{CALL}] Done!", f"Sure: {CALL[:-9]}"],
)
async def test_a_call_behind_words_is_neither_run_nor_shown(native, written):
    if native:
        response, told = await ask_native(Says(written))
    else:
        response, events, _ = await ask(written)
        told = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert ((), "Sure:", "Sure:") == (response.tool_calls, response.text, told.strip())


async def test_an_answer_about_a_call_that_the_person_wrote_is_shown_whole():
    written = f"It doubles:\n```json\n{CALL}\n```\nThat gives 42."
    response, told = await ask_native(Says(written), items=(UserItem(f"what is {CALL}?"),))
    assert ((), written, written) == (response.tool_calls, response.text, told)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_call_that_groq_could_not_read_is_asked_for_once_more(times):
    failed = ModelFailure(
        FailureKind.BAD_REQUEST, "invalid_request_error tool_use_failed Failed to call a function", 400
    )
    says = [failed] * times + [Says("done")]
    tools = PromptedTools(ScriptedModel(says), unless_taken=True)
    asked = tools.respond(ModelRequest(SYSTEM, ITEMS, (SPEC,)), lambda _event: None)
    if times == 1:
        assert "done" == (await asked).text
    else:
        with pytest.raises(ModelFailure, match="tool_use_failed"):
            await asked


@pytest.mark.parametrize(
    "words",
    [
        "You practised for 45 minutes.",
        'Write {"name": "x"} into the file.',
        '```json\n{"name": "cello", "minutes": 5}\n```',
        '{"name": "triple", "arguments": {}}',
        "```python\nprint(1)\n```\nThat prints 1.",
        "a < b, and <tool is no mark",
        "{not json",
        "",
    ],
)
async def test_what_is_no_call_stays_text(words):
    response, events, _ = await ask(words)
    assert ((), words) == (response.tool_calls, response.text)
    assert words == "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_a_marked_call_that_cannot_be_read_is_a_call():
    response, _, _ = await ask('<tool_call>{"name": "double", "arguments": {oops</tool_call>')
    assert [("double", '{"name": "double", "arguments": {oops')] == [(c.name, c.arguments) for c in response.tool_calls]


async def test_a_cut_response_begins_no_call():
    """Cover F29."""
    response, events, _ = await ask(f"<tool_call>{CALL}", stop=StopReason.LENGTH)
    assert StopReason.LENGTH is response.stop
    assert [] == [event for event in events if isinstance(event, CallStreamed)]


async def test_the_model_is_told_its_tools_and_what_they_gave():
    items = (
        UserItem("double 21"),
        AssistantItem("Let me see.", (ToolCall("c", "double", '{"n": 21}'),)),
        ToolItem("c", "double", '{"success":true,"data":42,"error":null}'),
    )
    _, _, request = await ask("42", items=items)
    assert () == request.tools
    assert request.system.static.startswith("be kind\n\n# Tools")
    assert '"name": "double"' in request.system.static
    assert "to Ana" == request.system.dynamic
    said, gave = request.items[1:]
    assert f"Let me see.\n<tool_call>\n{CALL}\n</tool_call>" == said.text
    assert NoteItem('the tool double gave: {"success":true,"data":42,"error":null}') == gave
    assert [READ] == [(name, json.loads(arguments)) for name, arguments in read_calls(said.text, ["double"]).calls]


async def test_without_tools_nothing_is_read():
    response, _, request = await ask(CALL, tools=())
    assert (CALL, ()) == (response.text, response.tool_calls)
    assert SYSTEM == request.system


@given(st.text(alphabet='<tool_call>`{}[]",: \nab/', max_size=200), st.integers(1, 7))
def test_whatever_it_says_nothing_is_lost_or_raised(words, size):

    class Speaks:
        name = "speaks:test"

        async def respond(self, request, on_event):
            for at in range(0, len(words), size):
                on_event(TextDelta(words[at : at + size]))
            return await ScriptedModel([Says(words)]).respond(request, lambda _event: None)

    events = []
    running = PromptedTools(Speaks()).respond(ModelRequest(SYSTEM, (UserItem("go"),), (SPEC,)), events.append)
    with pytest.raises(StopIteration) as ended:
        running.send(None)
    response = ended.value.value
    told = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert response.tool_calls or words == response.text == told
    assert words.startswith(told)


async def test_a_failure_is_the_models():
    with pytest.raises(ModelFailure):
        await PromptedTools(ScriptedModel([])).respond(ModelRequest(SYSTEM, (UserItem("go"),)), lambda _event: None)
