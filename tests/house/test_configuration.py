"""The example configuration: every key is explained, every explained key exists."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel, SecretStr

from agent.config import LinkConfig
from gateway.coach.product import COACH
from gateway.config.environment import API_BASES, SHORTHANDS
from gateway.config.settings import Settings, load
from gateway.config.sources import annotation_at, is_secret
from gateway.product import in_force
from tests.house.tree import ROOT

EXAMPLE = ROOT / "config" / "gateway.toml"
SECRETS = ROOT / "config" / "secrets.example.toml"
ACCOUNTS = {
    **{("channels", platform): "main" for platform in ("telegram", "discord", "slack")},
    ("access", "accounts"): "telegram:main",
    ("agent", "accounts"): "telegram:main",
    ("agent", "groups"): "telegram:-100123",
    ("agent", "personas"): "telegram:main",
    ("model", "fallback"): "spare",
    ("model", "profiles"): "oauth",
    ("model", "profiles", "oauth", "add_headers"): "x-example",
    ("model", "profiles", "oauth", "query"): "beta",
    ("mcp",): "example",
    ("mcp", "example", "headers"): "authorization",
    ("mcp", "example", "env"): "example_key",
    ("connect",): "acme",
    ("connect", "acme", "oauth", "headers"): "x-example",
    ("tenants",): "acme",
    ("cli",): "gh",
    ("cli", "gh", "secrets"): "GH_TOKEN",
    ("workspace", "deny"): "releases",
    ("workspace", "linters"): "py",
}
"""Name of the one entry in each table of accounts in the examples."""


def taken_out_of_comments(path: Path) -> str:
    return re.sub(r"^#(?=[A-Za-z_]+ = |\"[a-z0-9:-]+\" = |\[)", "", path.read_text(), flags=re.MULTILINE)


def leaves(tree: object, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*above, key))
    else:
        yield above, tree


def declared(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in model.model_fields:
        path = (*above, name)
        inner = annotation_at(Settings, path)
        if len(above) == 2 and above[0] == "tenants" and name in Settings.model_fields:
            continue  # as the installation's own table of that name
        if get_origin(inner) is Mapping or get_origin(inner) is dict:
            path = (*path, ACCOUNTS[path])
            inner = get_args(inner)[1]
        if inner is LinkConfig:  # the keys of the table around it
            yield from ((*path, "name"), (*path, "api_key"))
        elif isinstance(inner, type) and issubclass(inner, BaseModel) and not issubclass(inner, SecretStr):
            yield from declared(inner, path)
        elif path[:1] != ("channels",) or path[-2:] != ("main", "name"):  # its table is its name
            yield path


def test_every_key_stands_in_the_example_and_nothing_else() -> None:
    written = {path for path, _ in leaves(tomllib.loads(taken_out_of_comments(EXAMPLE)))}
    known = set(declared(Settings))
    of_tenants = {path for path in written if path[0] == "tenants" and path[2:] in known}
    settings = {path for path in known if not is_secret(Settings, path)}
    assert set() == settings - written, "add a line `#name = default` under an explanation to config/gateway.toml"
    assert set() == written - of_tenants - settings, "config/gateway.toml has keys that are no settings"


def test_every_secret_stands_in_the_secrets_example_and_nothing_else() -> None:
    written = {path for path, _ in leaves(tomllib.loads(taken_out_of_comments(SECRETS)))}
    secrets = {path for path in declared(Settings) if is_secret(Settings, path)}
    assert secrets == written, "config/secrets.example.toml shows each setting of the type SecretStr, and no other"


def test_the_example_shows_the_defaults(tmp_path: Path) -> None:
    shipped = in_force(load(EXAMPLE, {}), COACH).model_dump(mode="json")
    defaults = {path: value for path, value in leaves(shipped) if value is not None}
    written = dict(leaves(tomllib.loads(taken_out_of_comments(EXAMPLE))))
    del written["hooks",]  # there is none to begin with
    wrong = {path: (written[path], value) for path, value in defaults.items() if written.get(path, value) != value}
    assert {} == wrong, "config/gateway.toml shows the first value, the default is the second"


def test_everything_taken_out_of_its_comment_can_be_used(tmp_path: Path) -> None:
    one_of_three = re.sub(r'(?m)^(url = "https://mcp|python = |local_model = ).*\n', "", taken_out_of_comments(EXAMPLE))
    (tmp_path / "gateway.toml").write_text(one_of_three)
    token = "123456789:" + "AbC-_" * 7
    secrets = re.sub(r'(?m)^token = ".*"', f'token = "{token}"', taken_out_of_comments(SECRETS))
    (tmp_path / "secrets.toml").write_text(secrets)
    (tmp_path / "secrets.toml").chmod(0o600)
    settings = load(tmp_path / "gateway.toml", {})
    assert token == settings.channels.telegram["main"].token.get_secret_value()


def test_every_table_and_key_is_explained() -> None:
    lines = EXAMPLE.read_text().splitlines()
    unexplained = []
    for number, line in enumerate(lines):
        if re.match(r"#[a-z_]+ = ", line):
            above = number
            while re.match(r"#[a-z_]+ = ", lines[above]):
                above -= 1
            if not lines[above].startswith("# "):
                unexplained.append(line)
    assert [] == unexplained, "write a comment above each in config/gateway.toml"


@pytest.mark.parametrize(
    "variable", [*SHORTHANDS, *[base for base, _ in API_BASES.values()], "OPENAI_API_KEY", "OPENAI_BASE_URL"]
)
def test_every_shorthand_is_named_in_the_examples(variable: str) -> None:
    assert re.search(rf"^# .*\b{variable}\b", EXAMPLE.read_text() + SECRETS.read_text(), re.MULTILINE)
