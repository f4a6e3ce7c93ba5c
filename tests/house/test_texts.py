"""Texts for people: whole in each language's catalogue, and nowhere else."""

import ast
import gettext
import re
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from agent.catalogue import NAMES
from agent.pictures import Unseen
from agent.transcript import EndReason
from channels.web.page_files import SCRIPT_TEXTS
from gateway.access.config import Role
from gateway.access.pairing import Why
from tests.house.tree import PACKAGES, ROOT, files, is_migration, named, parsed, python_files

HARNESS = "gateway/locale"
OWNERS = {
    HARNESS: (),
    "agent/coach/locale": ("agent/coach/", "gateway/coach/"),
    "tests/contract/example_agent/pantry_locale": ("tests/contract/example_agent/",),
}
"""Directory of each catalogue, and the code that uses its keys; all other code uses the gateway's."""

KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+\Z")


def sources() -> list[Path]:
    return [path for path in files() if path.suffix == ".po"]


@cache
def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


@cache
def texts_of(folder: str, language: str) -> dict[str, Message]:
    (path,) = (path for path in sources() if named(path).startswith(f"{folder}/{language}/"))
    return {key_of(message): message for message in read(path) if message.id}


def key_of(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def forms_of(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string)


def fields_of(message: Message) -> frozenset[str]:
    parsed_forms = [piece for form in forms_of(message) for piece in Formatter().parse(form)]
    return frozenset(name for _, name, _, _ in parsed_forms if name is not None)


def test_every_catalogue_is_known_here() -> None:
    expected = {f"{folder}/{language}" for folder in OWNERS for language in NAMES}
    assert expected == {named(path).partition("/LC_MESSAGES/")[0] for path in sources()}


@pytest.mark.parametrize("path", sources(), ids=named)
def test_what_is_read_is_what_was_written(path: Path) -> None:
    made = BytesIO()
    write_mo(made, read(path))
    made.seek(0)
    expected = gettext.GNUTranslations(made)
    with path.with_suffix(".mo").open("rb") as file:
        there = gettext.GNUTranslations(file)
    written, compiled = entries_of(expected), entries_of(there)
    stale = sorted(str(key) for key in written.keys() | compiled.keys() if written.get(key) != compiled.get(key))
    assert [] == stale, "run `make generated`"
    assert [expected.plural(n) for n in range(200)] == [there.plural(n) for n in range(200)]


def entries_of(read_back: gettext.GNUTranslations) -> dict[object, str]:
    return {key: text for key, text in vars(read_back)["_catalog"].items() if key}


@pytest.mark.parametrize("folder", OWNERS)
def test_every_language_has_every_text(folder: str) -> None:
    english = texts_of(folder, "en")
    for language in NAMES:
        texts = texts_of(folder, language)
        assert [] == sorted(english.keys() ^ texts.keys()), f"missing in {language} or in en of {folder}"
        other_fields = [key for key in texts if fields_of(texts[key]) != fields_of(english[key])]
        assert [] == other_fields, f"{language} and en have different fields"
        one_form = [key for key in texts if isinstance(texts[key].id, str) != isinstance(english[key].id, str)]
        assert [] == one_form, f"only one of {language} and en has plural forms"
        assert [] == [key for key, text in texts.items() if not all(form.strip() for form in forms_of(text))], "empty"
        plurals = [text for text in texts.values() if not isinstance(text.id, str)]
        assert [] == [key_of(text) for text in plurals if len(forms_of(text)) != 2], "not two plural forms"
        assert [] == [key for key, text in texts.items() if text.fuzzy], "still marked as fuzzy"


@pytest.mark.parametrize("folder", OWNERS)
def test_a_field_is_a_name(folder: str) -> None:
    for language in NAMES:
        for key, text in texts_of(folder, language).items():
            for form in forms_of(text):
                pieces = [piece[1:] for piece in Formatter().parse(form) if piece[1] is not None]
                assert [] == [piece for piece in pieces if not re.fullmatch(r"[a-z_]+", piece[0] or "")], key
                assert {("", None)} >= {piece[1:] for piece in pieces}, key


@pytest.mark.parametrize("folder", [folder for folder in OWNERS if folder != HARNESS])
def test_an_agents_text_in_place_of_the_harness_s_has_its_fields(folder: str) -> None:
    ours, theirs = texts_of(HARNESS, "en"), texts_of(folder, "en")
    assert [] == [key for key in theirs.keys() & ours.keys() if not fields_of(theirs[key]) <= fields_of(ours[key])]


@pytest.mark.parametrize("folder", [folder for folder in OWNERS if folder != HARNESS])
def test_what_access_and_delivery_say_is_the_harness_s_alone(folder: str) -> None:
    alone = {"access", "delivery", "names"}
    assert [] == [key for key in texts_of(folder, "en") if key.partition(".")[0] in alone]


def test_whatever_happens_has_words() -> None:
    keys = texts_of(HARNESS, "en").keys()
    ends = {f"answer.alone_{reason.value}" for reason in EndReason}
    ends |= {f"answer.note_{reason.value}" for reason in EndReason if reason is not EndReason.COMPLETED}
    ends |= {f"answer.picture_{why.value}" for why in Unseen if why is not Unseen.OLDER}
    refusals = {f"access.why_{why.name.lower()}" for why in Why}
    roles = {f"roles.{role.value}" for role in Role if role is not Role.BLOCKED}
    assert set() == (ends | refusals | roles) - keys


def test_the_scripts_of_the_page_are_given_what_they_say() -> None:
    said = {
        key for path in page_files() if path.suffix == ".js" for key in re.findall(r"\bpage\.[a-z_]+", path.read_text())
    }
    assert said == set(SCRIPT_TEXTS)


# ------------------------------------------------------------ keys in the code


def owner_of(path: Path) -> str:
    name = named(path)
    return next((folder for folder, places in OWNERS.items() if name.startswith(places or ("//",))), HARNESS)


@cache
def code_files() -> tuple[Path, ...]:
    found = [path for path in python_files(*PACKAGES) if not is_migration(path)]
    return (*found, *page_files(), *skill_files(), ROOT / "tests/contract/example_agent/pantry.py")


def patterns_in(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*patterns_in(node.body), *patterns_in(node.orelse)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [re.escape(node.value)] if KEY.match(node.value) else []
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "*" for part in node.values]
        composed = "".join(map(str, parts))
        return [re.escape(composed).replace(r"\*", "[a-z0-9_]+")] if KEY.match(composed.replace("*", "x")) else []
    return []


def page_files() -> list[Path]:
    places = ("channels/web/page/", "gateway/console/templates/")
    return [path for path in files() if named(path).startswith(places) and path.suffix in {".html", ".js"}]


def skill_files() -> list[Path]:
    return [path for path in files() if path.name == "SKILL.md" and named(path).startswith("agent/")]


def said_in(path: Path) -> Iterator[str]:
    if path.name == "SKILL.md":
        yield from map(
            re.escape, re.findall(r"^summary: (menu\.[a-z_]+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        return
    if path.suffix != ".py":
        for key in re.findall(r"\b(?:page|ops)\.[a-z_]+", path.read_text(encoding="utf-8")):
            yield re.escape(key) + ("[a-z0-9_]+" if key.endswith("_") else "")  # composed: "ops.state_" ~ state
        return
    rooms = {key.partition(".")[0] for folder in OWNERS for key in texts_of(folder, "en")}
    inner = {id(part) for node in ast.walk(parsed(path)) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inner:
            keys = (each for each in patterns_in(node) if not each.endswith("\\.html"))  # a template of the console
            yield from (each for each in keys if each.partition("\\.")[0] in rooms)


def test_every_key_that_is_said_is_there() -> None:
    missing = []
    for path in code_files():
        keys = texts_of(owner_of(path), "en").keys() | texts_of(HARNESS, "en").keys()
        missing += [
            f"{owner_of(path)}: {pattern} ({named(path)})"
            for pattern in said_in(path)
            if not any(re.fullmatch(pattern, key) for key in keys)
        ]
    missing = [place.replace("\\", "") for place in missing]
    assert [] == missing, "add each text to the catalogue of every language in its folder"


@pytest.mark.parametrize("folder", OWNERS)
def test_every_key_is_said(folder: str) -> None:
    said = {pattern for path in code_files() if owner_of(path) == folder for pattern in said_in(path)}
    keys = texts_of(folder, "en").keys() - (set() if folder == HARNESS else texts_of(HARNESS, "en").keys())
    unused = sorted(key for key in keys if not any(re.fullmatch(pattern, key) for pattern in said))
    assert [] == unused, "no code uses these texts: remove them in each language"


def test_every_field_is_filled() -> None:
    wrong = []
    for path in code_files():
        texts = texts_of(HARNESS, "en") | texts_of(owner_of(path), "en")
        for node in ast.walk(parsed(path)) if path.suffix == ".py" else ():
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called not in {"text", "plural", "say"} or any(keyword.arg is None for keyword in node.keywords):
                continue
            given = {str(keyword.arg) for keyword in node.keywords} | ({"n"} if called == "plural" else set())
            for pattern in patterns_in(node.args[1]):
                for key, text in texts.items():
                    several = not isinstance(text.id, str)
                    if re.fullmatch(pattern, key) and (
                        several != (called == "plural") or fields_of(text) - {"n"} != given - {"n"}
                    ):
                        wrong.append(f"{named(path)}:{node.lineno}: {key}")
    assert [] == wrong
