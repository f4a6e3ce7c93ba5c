"""Agent definitions: what a file says, and what each broken one says to the operator."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.definitions import (
    MAX_DEFINITION_BYTES,
    MAX_DEFINITIONS,
    AgentDefinition,
    BadDefinition,
    parse_definition,
    read_definitions,
)
from agent.permission_rules import Mode

PIECES = "name:|description:|tools:|steps:|- |[|]|{|}|: |!!int |<<: |0x|1_0|.inf|~|'|---|#|\n|\n |\t|\x00|\ud800|x"
FRAGMENTS = st.sampled_from([*PIECES.split("|"), "|"])
WHOLE = """---
name: researcher
description: Finds things out
tools: [web_search, mcp__github__*]
model: openai:gpt-5
permission-mode: plan
steps: 12
---

You find things out.
"""


def text_of(head="", body="You help."):
    return f"---\ndescription: Helps\n{head}\n---\n{body}\n"


def read(text, name="helper.md"):
    return parse_definition(text, Path("agents") / name)


def test_a_file_describes_an_agent():
    assert read(WHOLE) == AgentDefinition(
        name="researcher",
        description="Finds things out",
        prompt="You find things out.",
        tools=("web_search", "mcp__github__*"),
        model="openai:gpt-5",
        mode=Mode.PLAN,
        steps=12,
        path=Path("agents/helper.md"),
    )


def test_an_agent_without_keys_is_called_as_its_file_and_has_what_its_tenant_has():
    assert read(text_of()) == AgentDefinition(
        name="helper", description="Helps", prompt="You help.", path=Path("agents/helper.md")
    )


def test_tools_may_be_one_text_and_none():
    assert (read(text_of("tools: think, web_*")).tools, read(text_of("tools: []")).tools) == (("think", "web_*"), ())


def test_a_pattern_gives_the_tools_that_it_matches():
    agent = read(WHOLE)
    assert [name for name in ("web_search", "web_fetch", "mcp__github__star") if agent.has_tool(name)] == [
        "web_search",
        "mcp__github__star",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("You help.", "helper.md:1: it does not begin with frontmatter"),
        ("---\ndescription: [\n---\nBody", "helper.md:3: its frontmatter is no YAML"),
        ("---\na: &x 1\nb: *x\n---\nBody", "helper.md:2: its frontmatter has an anchor or alias"),
        ("---\n- a\n---\nBody", "helper.md:1: its frontmatter is no mapping"),
        ("---\nname: a\n---\nBody", "helper.md:1: description: is missing"),
        (text_of(body=""), "helper.md:1: it has no text behind its frontmatter"),
        (text_of("modle: openai:x"), 'helper.md:3: modle: there is no such key; did you mean "model"?'),
        (text_of("permission_mode: plna"), "helper.md:3: permission_mode: there is no mode 'plna'; did you mean"),
        (text_of("steps: many"), "helper.md:3: steps: a whole number is wanted"),
        (text_of("steps: 0"), "helper.md:3: steps: it has to be 1 or more"),
        (text_of("name: Big Name"), "helper.md:3: name: it does not fit the pattern"),
        (text_of("tools: [a, 'b c(']"), "helper.md:3: tools: it does not fit the pattern"),
    ],
)
def test_a_broken_file_says_its_line_and_the_reason(text, line):
    with pytest.raises(BadDefinition) as bad:
        read(text)
    assert f"agents/{line}" in str(bad.value)


def test_each_wrong_key_gets_a_line():
    with pytest.raises(BadDefinition) as bad:
        read(text_of("steps: x\nmodle: y"))
    assert [line.split(": ")[0] for line in str(bad.value).splitlines()] == ["agents/helper.md:3", "agents/helper.md:4"]


def test_a_folder_gives_its_agents_by_name_and_passes_over_other_files(tmp_path):
    (tmp_path / "b.md").write_text(text_of())
    (tmp_path / "z.md").write_text(text_of("name: a"))
    (tmp_path / "README.txt").write_text("no agent")
    (tmp_path / ".b.md.swp.md").write_text("no agent")
    found = read_definitions(tmp_path)
    assert ([agent.name for agent in found.agents], found.flaws) == (["a", "b"], ())


def test_a_missing_folder_has_no_agents(tmp_path):
    assert read_definitions(tmp_path / "agents").agents == ()


def test_a_doubled_name_names_both_files(tmp_path):
    (tmp_path / "a.md").write_text(text_of())
    (tmp_path / "b.md").write_text(text_of("name: a"))
    assert read_definitions(tmp_path).flaws == (
        f"{tmp_path}/b.md:3: the agent 'a' is described already in {tmp_path}/a.md:1",
    )


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_text(text_of(body="x" * MAX_DEFINITION_BYTES)), "has more than 64,000 bytes"),
        (lambda path: path.write_bytes(b"---\ndescription: \xff\n---\nBody"), "is no text in UTF-8"),
        (lambda path: path.mkdir(), "it cannot be read: Is a directory"),
        (os.mkfifo, "is no ordinary file"),
        (lambda path: path.symlink_to("/etc/passwd"), "is a link out of the folder"),
        (lambda path: path.symlink_to("nowhere"), "it cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_leaves_the_others(tmp_path, make, why):
    (tmp_path / "good.md").write_text(text_of())
    make(tmp_path / "bad.md")
    found = read_definitions(tmp_path)
    assert [agent.name for agent in found.agents] == ["good"]
    assert f"{tmp_path}/bad.md:1: " in found.flaws[0] and why in found.flaws[0]


def test_a_folder_with_too_many_files_has_none(tmp_path):
    for number in range(MAX_DEFINITIONS + 1):
        (tmp_path / f"a{number}.md").write_text(text_of())
    found = read_definitions(tmp_path)
    assert found.agents == () and "more than 100 agents" in found.flaws[0]


def flaws_of(text):
    try:
        read(text)
    except BadDefinition as bad:
        return str(bad).splitlines()
    return []


@given(st.lists(FRAGMENTS, max_size=20).map("".join), st.text(max_size=20))
def test_any_text_describes_an_agent_or_says_why_not(head, body):
    flaws = flaws_of(f"---\n{head}\n---\n{body}")
    assert all(line.startswith("agents/helper.md:") and len(line) < 1000 for line in flaws)
