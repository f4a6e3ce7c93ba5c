"""Files of agents and the settings that name them: found beside the configuration, each mistake with its line."""

from pathlib import Path

import pytest

from gateway.config.settings import load, read_sources
from gateway.definitions import read_agents
from gateway.errors import SettingsError
from gateway.product import check_names

MODEL = '[model]\nname = "openai:gpt-5"\napi_key = "sk"\n[model.fallback.spare]\nname = "openai:o3"\napi_key = "sk"\n'
HEAD = "---\ndescription: Finds things out\n"
BODY = "---\nYou find things out.\n"


def write(directory: Path, config: str = "", **files: str) -> Path:
    (directory / "secrets.toml").write_text(MODEL)
    (directory / "secrets.toml").chmod(0o600)
    for name, more in files.items():
        file = directory / "agents" / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEAD + more + BODY)
    (directory / "gateway.toml").write_text(config)
    return directory / "gateway.toml"


def check(file: Path) -> None:
    check_names(load(file, {}), read_sources(file, {}))


@pytest.mark.parametrize(
    ("config", "files", "words"),
    [
        (
            "",
            {"finder": "tools: [log_practise]\n"},
            r'finder\.md:3: tools: .*"log_practise"; did you mean "log_p',
        ),
        ("", {"finder": "tools: [shel]\n"}, r'finder\.md:3: tools: there is no tool "shel"; there are: .*log_practice'),
        (
            "",
            {"finder": "model: openai:gpt5\n"},
            r"finder\.md:3: model: .*'openai:gpt5' .*did you mean ",
        ),
        ('[agent]\nfolder = "nowhere"', {}, r"toml:2: agent\.folder: there is no folder nowhere"),
        ("", {"finder": "permission_mode: bypas\n"}, r'finder\.md:3: permission_mode: .*did you mean "bypass"'),
        ("", {"finder": "modle: x\n"}, r'finder\.md:3: modle: there is no such key; did you mean "model"'),
        ("", {"finder": "name: coach\n"}, r"finder\.md:3: name: 'coach' is the name of the tenant's own agent"),
        (
            "",
            {"a": "name: finder\n", "finder": ""},
            r"finder\.md:1: the agent 'finder' is described already in .*a\.md",
        ),
        ("", {"acme__finder": ""}, r"agents/acme/finder\.md:1: there is no tenant \"acme\"; there are: default"),
        (
            '[agent.accounts]\n"web:main" = "findr"',
            {"finder": ""},
            r'toml:2: .*no agent "findr"; did you mean "find',
        ),
        ('[agent.groups]\n"telegram:-1" = "x"', {"finder": ""}, r'toml:2: .*no agent "x"; there are: coach, finder'),
        (
            '[agent.accounts]\n"web:mian" = "finder"',
            {"finder": ""},
            r'toml:2: .*no such account; did you mean "web',
        ),
        (
            '[tenants.acme]\nlanguage = "es"',
            {"acme__finder": "steps: x\n"},
            r"acme/finder\.md:3: steps: a whole",
        ),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, config: str, files: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check(write(tmp_path, config, **files))


def test_good_files_are_taken_as_they_are(tmp_path: Path) -> None:
    files = {"finder": "tools: [log_practice, 'mcp__*', think]\nmodel: openai:o3\n"}
    check(write(tmp_path, '[tools]\n[agent.accounts]\n"web:main" = "finder"\n', **files))


def test_a_tenant_has_the_agents_of_its_folder_or_else_those_of_all(tmp_path: Path) -> None:
    config = "[tenants.acme]\n[tenants.bell.agent]\nmax_steps = 3\n"
    settings = load(write(tmp_path, config, finder="", acme__clerk=""), {})
    found = {
        tenant: [agent.name for agent in read_agents(settings.of_tenant(tenant), tenant)]
        for tenant in ("default", "acme", "bell")
    }
    assert {"default": ["finder"], "acme": ["clerk"], "bell": ["finder"]} == found


def test_an_agent_needs_a_model(tmp_path: Path) -> None:
    file = write(tmp_path, finder="")
    (tmp_path / "secrets.toml").unlink()
    with pytest.raises(SettingsError, match=r"finder\.md:1: the agent 'finder' needs a model: set model\.name"):
        check(file)
