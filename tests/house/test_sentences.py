"""Sentences in the code: only for the model and for operators, never for people."""

import ast
import re
from collections.abc import Iterator

from tests.house.tree import PACKAGES, ROOT, is_migration, named, parsed, python_files

ROOMS = (
    "agent/",
    "channels/",
    "gateway/access/",
    "gateway/coach/",
    "gateway/commands/",
    "gateway/delivery/",
    "gateway/inbound/",
    "gateway/safety/",
    "gateway/sessions/",
    "gateway/answering.py",
    "gateway/command_set.py",
)
"""Modules that make texts for people in a chat or on the page."""

APART = ("agent/coach/", "channels/simulators/", "gateway/testing/")
"""The coach's tools and prompts speak to the model throughout, the others to authors of tests."""

FOR_THE_MODEL = {
    "gateway/sessions/aside.py",
    "agent/bridges/acp.py",
    "agent/bridges/foreign_turn.py",
    "agent/bridges/notes.py",
    "agent/context/compaction.py",
    "agent/context/layers.py",
    "agent/context/person.py",
    "agent/delegation/defined.py",
    "agent/evals/judge.py",
    "agent/hooks/chain.py",
    "agent/mcp/elicitation.py",
    "agent/mcp/personal.py",
    "agent/mcp/prompts.py",
    "agent/mcp/resources.py",
    "agent/mcp/server.py",
    "agent/memory/consolidation.py",
    "agent/memory/files.py",
    "agent/memory/index.py",
    "agent/memory/recall.py",
    "agent/memory/tools.py",
    "agent/models/openai_format.py",
    "agent/models/prompted_tools.py",
    "agent/permissions/judge.py",
    "agent/pictures.py",
    "agent/recovery.py",
    "agent/fallbacks.py",
    "agent/tools/guards.py",
    "agent/tools/base.py",
    "agent/web/pages.py",
    "agent/web/tools.py",
    "agent/tools/schema.py",
    "agent/tools/executor.py",
    "agent/read_only_turn.py",
    "agent/replay/record.py",
    "agent/schedules/prompts.py",
    "agent/skills/library.py",
    "agent/skills/workspace.py",
    "agent/tools/toolbox.py",
    "agent/programs/program.py",
    "agent/tools/pipeline.py",
    "agent/tools/results.py",
    "agent/transcript.py",
    "agent/workspace/files.py",
    "agent/workspace/shell.py",
    "channels/console/limits.py",
    "channels/api/adapter.py",
    "channels/discord/limits.py",
    "channels/slack/limits.py",
    "channels/telegram/limits.py",
    "channels/web/adapter.py",
    "gateway/safety/guard.py",
    "gateway/sessions/turn.py",
    "gateway/sessions/user_items.py",
}
"""Notes, results of tools, how a platform shows text: models read it, and answer in the person's language."""

FOR_OPERATORS = {
    "agent/plain_errors.py",
    "channels/discord/connection.py",
    "channels/discord/error_mapping.py",
    "channels/slack/probe.py",
    "channels/slack/sockets.py",
    "channels/telegram/probe.py",
    "channels/telegram/polling.py",
    "channels/telegram/webhook.py",
    "channels/chat/http_answers.py",
    "gateway/coach/api.py",
}
"""The state of a channel, as logs, `tenk doctor` and `tenk status` show it, and what /v1/docs says: in English."""

IS_CODE = re.compile(r"\A\w+\[.*\]\Z|\(\?")
"""A type in quotes, a pattern."""

SAID = {"Reply": 0, "Button": 0, "SuggestedReply": 0, "OutboundMessage": 2, "Command": 1, "CommandOption": 1}
"""Calls that carry words to people, and the arguments that are words."""


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_for_no_chat(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return True
    if not isinstance(node, ast.Call):
        return False
    logs = (
        isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "log"
    )
    errors = {"Permanent", "Retryable", "Unknown", "CallFailure", "ConfigRefused"}
    return logs or name_of(node) in errors | {"Field", "compile"}


def texts_in(node: ast.AST) -> Iterator[tuple[int, str]]:
    for child in ast.iter_child_nodes(node):
        if is_for_no_chat(child):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.lineno, child.value
        elif isinstance(child, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "it" for part in child.values]
            yield child.lineno, "".join(map(str, parts))
        else:
            yield from texts_in(child)


def is_sentence(text: str) -> bool:
    several = re.search(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]+\W*\s\W*[^\W\d_]{2,}", text) is not None
    return several and re.search(r"\A\W*[A-ZÁÉÍÓÚÑ¡¿]|[.!?…]\W*\Z", text) is not None


def test_a_sentence_is_for_the_model_or_for_who_runs_the_gateway() -> None:
    found = {
        f"{named(path)}:{line}": text
        for path in python_files(*PACKAGES)
        if named(path).startswith(ROOMS) and not named(path).startswith(APART) and not is_migration(path)
        for line, text in texts_in(parsed(path))
        if is_sentence(text) and not IS_CODE.search(text)
    }
    allowed = FOR_THE_MODEL | FOR_OPERATORS
    in_code = {place: text for place, text in found.items() if place.partition(":")[0] not in allowed}
    assert {} == in_code, "put a text for people into a catalogue; list a module that writes for models or operators"
    assert set() == allowed - {place.partition(":")[0] for place in found}


def test_what_carries_words_to_people_carries_none_of_the_code() -> None:
    wrong = []
    for path in python_files(*PACKAGES):
        if {"simulators", "demo", "testing"} & set(path.relative_to(ROOT).parts):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and (place := SAID.get(name_of(node))) is not None and node.args[place:]:
                said = [part.value for part in ast.walk(node.args[place]) if isinstance(part, ast.Constant)]
                wrong += [
                    f"{named(path)}:{node.lineno}: {text}"
                    for text in said
                    if isinstance(text, str) and re.search(r"[A-ZÁÉÍÓÚÑ¡¿]|\w\s+\w", text)
                ]
    assert [] == wrong, "put these texts for people into a catalogue"
