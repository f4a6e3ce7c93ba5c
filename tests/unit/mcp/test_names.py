"""Names of the servers' tools for the model."""

import re

from agent.mcp.names import MAX_NAME_CHARS, is_name_of, is_wanted, name_tools, tool_name


def test_a_name_has_server_and_tool() -> None:
    assert "mcp__files__read_file" == tool_name("files", "read_file")


def test_a_name_has_only_what_every_model_accepts() -> None:
    for name in ("a.b/c", "пример", "", "a b", "x\n\0y", "😀"):
        assert re.fullmatch(r"[A-Za-z0-9_]{1,64}", tool_name("my-server", name))


def test_long_names_differ_by_their_hash() -> None:
    long = [tool_name("server", "x" * 100 + end) for end in "ab"]
    assert [MAX_NAME_CHARS] * 2 == [len(name) for name in long]
    assert long[0] != long[1]


def test_names_that_collide_are_told_apart_whatever_their_order() -> None:
    names = name_tools("s", ["a.b", "a_b", "a-b"])
    assert names == name_tools("s", ["a-b", "a.b", "a_b"])
    assert 3 == len(set(names.values()))
    assert "mcp__s__a_b" == names["a_b"]


def test_a_tool_listed_twice_is_one() -> None:
    assert {"a": "mcp__s__a"} == name_tools("s", ["a", "a"])


def test_rules_may_name_tools_of_configured_servers() -> None:
    assert is_name_of("mcp__my_files__read", ["my-files"])
    assert not is_name_of("mcp__other__read", ["my-files"])


def test_a_denied_pattern_wins() -> None:
    wanted = [name for name in ("read", "read_all", "write") if is_wanted(name, ("read*",), ("*_all",))]
    assert ["read"] == wanted
