"""The field's words: one class a name, verbs for functions, nouns for loop variables, and a walk that resolves."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.tree import PACKAGES, ROOT, functions, is_migration, named, parsed, python_files

TWINS = {
    "ApiRefusal",
    "Histories",
    "BotIdentity",
    "EphemeralReplies",
    "RawFile",
    "RawMember",
    "RawMessage",
    "RawPressedMessage",
    "RawUser",
    "ReplyRoute",
    "TranslationContext",
}
"""Class names that several adapters share for one role. The list only shrinks."""

BARE_PARTICIPLE = re.compile(
    r"""(?x) told|heard|shown|seen|held|found|known|said|sent|made|given|taken|begun|gone|lost|kept|left|met|built|drawn
    |written|spoken|thrown|grown|broken|chosen|fallen|forgotten|hidden|understood|stood|won|worn|bound|brought|bought
    |caught|cut|done|felt|fed|got|hung|laid|led|lent|lit|meant|paid|proven|sold|shut|slept|spent|stuck|struck|swept
    |taught|thought|torn|borne|bent|blown|burnt|dealt|driven|eaten|fought|flown|frozen|risen|rung|sought|shaken|sunk
    |sworn|undone|[a-z]+ed"""
)
NO_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"})


def product_files() -> Iterator[Path]:
    return (path for path in python_files(*PACKAGES) if not is_migration(path))


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in product_files():
        if {"simulators", "testing"} & set(path.relative_to(ROOT).parts):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(named(path))
    twice = {name: where for name, where in places.items() if len(where) > 1 and name not in TWINS}
    assert {} == twice, "give one of the classes another name"
    assert set() == {name for name in TWINS if len(places[name]) < 2}


def is_bare_participle(name: str) -> bool:
    word = name.strip("_")
    return BARE_PARTICIPLE.fullmatch(word) is not None and word not in NO_PARTICIPLES


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}
    return bool(marks & {"property", "cached_property", "setter"})


def test_no_function_is_named_by_a_bare_participle() -> None:
    found = [
        f"{named(path)}:{name}"
        for path in product_files()
        for name, function in functions(path)
        if is_bare_participle(function.name) and not is_property(function)
    ]
    assert [] == found


def test_nothing_is_called_one() -> None:
    found = set()
    for path in python_files(*PACKAGES):
        for node in ast.walk(parsed(path)):
            if (isinstance(node, ast.arg) and node.arg == "one") or (
                isinstance(node, ast.Name) and node.id == "one" and isinstance(node.ctx, ast.Store)
            ):
                found.add(named(path))
    assert set() == found


def test_a_bundle_of_dependencies_is_no_tool() -> None:
    found = [
        f"{named(path)}:{node.name}"
        for path in python_files("gateway", "channels")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Tools")
    ]
    assert [] == found


def test_no_first_party_import_hides_in_a_function() -> None:
    found = defaultdict(int)
    for path in product_files():
        for _, function in functions(path):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
                    found[named(path)] += 1
    assert HIDDEN_IMPORTS == dict(found), "import at the top of the module, or give the reason in HIDDEN_IMPORTS"


HIDDEN_IMPORTS = {
    "gateway/capabilities/mcp.py": 1,  # the SDK takes 0.5 s, and is needed only with a server
    "gateway/app.py": 1,  # the SDK of MCP takes 0.8 s, and is needed only if it is switched on
    "gateway/capabilities/table.py": 10,  # nothing of a capability loads without its table
    "gateway/definitions.py": 2,  # with PyYAML, and needed only with definitions
    "gateway/cli/acp.py": 1,  # the package of the extra may be missing, and takes 0.6 s
    "gateway/cli/chat.py": 1,  # prompt_toolkit takes 0.2 s, and is needed only at a person's terminal
    "gateway/cli/client.py": 1,  # settings and store take longer to load than a list of 10,000 sessions takes
    "gateway/store/schema.py": 1,  # alembic takes 0.7 s, and is needed only to migrate
}

CONTRIBUTING = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:gateway|channels|agent)(?:\.\w+)+)`", CONTRIBUTING))))
def test_every_name_that_contributing_gives_is_there(name: str) -> None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute)
        return
    pytest.fail(f"there is no {name}")
