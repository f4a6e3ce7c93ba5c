"""Edits of the configuration file: comments stay, and nothing invalid is written."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.editing import EMPTIED, draft, with_value, without_value
from gateway.config.sources import key_parts
from gateway.errors import SettingsError


def files(tmp_path: Path, main: str = "", secrets: str | None = None) -> Path:
    (tmp_path / "gateway.toml").write_text(main)
    if secrets is not None:
        (tmp_path / "secrets.toml").touch(0o600)
        (tmp_path / "secrets.toml").write_text(secrets)
    return tmp_path / "gateway.toml"


def changed(before: str, after: str) -> list[tuple[str, str]]:
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return [(old, new) for old, new in pairs if old != new]


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c d", "e.f"]), st.sampled_from(["x", "y:z"])), max_size=4))
def test_whatever_is_set_in_turn_is_what_is_read(keys: list[tuple[str, str]]) -> None:
    text, wanted = "# head\n\n[z]\nkept = 1 # here\n", {"z": {"kept": 1}}
    for number, (table, key) in enumerate(keys):
        text = with_value(text, (table, key), number)
        wanted.setdefault(table, {})[key] = number
    assert wanted == tomllib.loads(text)
    assert ("# head", True) == (text.partition("\n")[0], "kept = 1 # here" in text)


def test_a_table_is_taken_out_of_its_comment() -> None:
    before = "# head\n#[memory]\n#keep = 3\n\n[web]\n"
    assert [("#[memory]", "[memory]")] == changed(before, with_value(before, ("memory",), {}))


def test_a_secret_goes_into_its_own_file(tmp_path: Path) -> None:
    path = files(tmp_path, "# mine\n")
    made = draft(path, {}, {("channels", "telegram", "main", "token"): "123:abc"})
    assert [tmp_path / "secrets.toml"] == made.write()
    assert ("# mine\n", 0o600) == (path.read_text(), (tmp_path / "secrets.toml").stat().st_mode & 0o777)
    assert "123:abc" in (tmp_path / "secrets.toml").read_text()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("access.dirct", "open", 'access.dirct: there is no such key; did you mean "direct"?'),
        ("sessions.max_turns", 0, "sessions.max_turns: it has to be 1 or more"),
        ("model.name", "gpt", "model.name: write offline, anthropic:NAME"),
        ("channels.telegram.main.token", "nonsense", "channels.telegram.main.token: is not a bot token"),
        ("access", "open", "access"),
    ],
)
def test_what_could_not_be_loaded_is_not_written(tmp_path: Path, key: str, value: object, words: str) -> None:
    path = files(tmp_path, "[access]\ndirect = 'pairing'\n")
    with pytest.raises(SettingsError) as refused:
        draft(path, {}, {key_parts(key): value})
    assert words in str(refused.value)
    assert "nonsense" not in str(refused.value)
    assert ["gateway.toml"] == [file.name for file in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("[a]\nb = 1 # one\n# two\nc = 2\n", "a.b", "[a]\n# two\nc = 2\n"),
        ("# top\n[a]\nb = 1\n[a.d]\ne = 2\n\n# of x\n[x]\ny = 1\n", "a", "# top\n\n# of x\n[x]\ny = 1\n"),
        ("[[h]]\nb = 1\n# why\n[[h]]\nb = 2\n[x]\ny = 1\n", "h", "# why\n[x]\ny = 1\n"),
        ("a.b = 1\na.c = 2\n", "a.b", "a.c = 2\n"),
        ("a.b = 1\na.c = 2\nx.a = 3\n", "a", "x.a = 3\n"),
        ("[x]\na.b = 1 # one\na.c = 2\n# of d\nd = 3\n", "x.a", "[x]\n# of d\nd = 3\n"),
        ("x = 1\na = {b = 1}\n", "a", "x = 1\n"),
        ("[a]\nb = [\n  1, # one\n]\n", "a.b", "[a]\n"),
    ],
)
def test_a_key_or_a_table_is_taken_away_and_comments_stay(before: str, key: str, after: str) -> None:
    assert after == without_value(before, key_parts(key))


@pytest.mark.parametrize(
    ("before", "key", "value"),
    [
        ("[a]\n# of b\n#b = 1\n\n[c]\n", "a.b", 2),
        ('[a]\n#"x:y" = 1\n# end\n', 'a."x:y"', 2),
        ("[x]\n\n# of a\n#[a]\n# of b\n#b = 1\n#c = 2\n\n[y]\n", "a.b", 2),
        ("[x]\n\n# of a\n#[a]\n# of b\n#b = 1\n\n[y]\n", "a", {}),
        ("[x]\n\n# of a\n[a]\n\n# of b\n#b = 1\n", "a.b", 2),
    ],
)
def test_a_key_that_is_set_and_unset_leaves_the_file_as_it_was(before: str, key: str, value: object) -> None:
    path = key_parts(key)
    once = with_value(before, path, value)
    assert before != once
    assert before == without_value(once, path)
    assert before == without_value(with_value(once, path, value), path)


def test_a_table_that_is_taken_away_stays_as_an_example() -> None:
    before = "[x]\nk = 1\n\n#[a]\n# of b\n#b = 1\n"
    with_key = with_value(with_value(before, ("a",), {}), ("a", "b"), 2)
    assert before.replace("#[a]", "[a]") == without_value(with_key, ("a", "b"))
    assert before == without_value(with_key, ("a",))


def test_a_table_that_was_not_there_goes_again_if_it_means_nothing(tmp_path: Path) -> None:
    path = files(tmp_path, "# mine\n[gateway]\nlanguage = 'es'\n")
    for key in (("sessions", "max_turns"), ("memory", "recall_s")):
        draft(path, {}, {key: 7}).write()
        draft(path, {}, {key: None}).write()
    assert "# mine\n[gateway]\nlanguage = 'es'\n\n[memory]\n" == path.read_text()


def test_a_secret_is_taken_out_of_its_file(tmp_path: Path) -> None:
    path = files(tmp_path, "", '[model]\napi_key = "sk-1"\n')
    draft(path, {}, {("model", "api_key"): None}).write()
    assert EMPTIED == (tmp_path / "secrets.toml").read_text()
    draft(path, {}, {("model", "api_key"): "sk-2"}).write()
    assert '[model]\napi_key = "sk-2"\n' == (tmp_path / "secrets.toml").read_text()
    path = files(tmp_path, "[model]\nname = 'openai:x'\nbase_url = 'http://127.0.0.1:9/v1'\n", "")
    with pytest.raises(SettingsError, match=r"model\.api_key"):
        draft(path, {}, {("model", "base_url"): None})


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = files(tmp_path)
    made = draft(path, {}, {("access", "direct"): "open"})
    path.write_text("[access]\ndirect = 'allowlist'\n")
    with pytest.raises(SettingsError, match="was changed meanwhile"):
        made.write()
    assert "allowlist" in path.read_text()
