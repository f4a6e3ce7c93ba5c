"""`tenk new` and `tenk hook try` as a developer types them."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from gateway.cli.agent_texts import missing_texts
from gateway.cli.new import KINDS, files_of, problem_of
from gateway.config.settings import load
from tests.house.tree import ROOT
from tests.unit.cli.test_cli import tenk


@pytest.mark.parametrize(("kind", "name"), [("agent", "clerk"), ("tool", "dice"), ("hook", "brevity")])
def test_the_page_shows_what_is_made(kind: str, name: str) -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    assert f"```python\n{files_of(kind, name)[f'{name}.py']}```" in page


def test_a_distribution_is_made_once(tmp_path: Path) -> None:
    made = tenk("new", "tool", "dice_box", str(tmp_path / "box"), home=tmp_path)
    assert (0, "") == (made.returncode, made.stderr)
    assert 'tools = ["dice_box"]' in made.stdout and "  pytest\n  mypy\n" in made.stdout
    assert "class DiceBox:" in (tmp_path / "box" / "dice_box.py").read_text()
    again = tenk("new", "tool", "dice_box", str(tmp_path / "box"), home=tmp_path)
    assert (1, True) == (again.returncode, again.stderr.endswith("box is not empty\n"))


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("tool", "My-Tool", "'My-Tool' cannot be a name: write 1 to 32 small letters"),
        ("tool", "a" * 33, "cannot be a name"),
        ("tool", "class", "'class' is a word of Python"),
        ("tool", "log_practice", "there is a tool 'log_practice' already"),
        ("hook", "json", "'json' is a module of Python"),
        ("hook", "gateway", "there is a module 'gateway' already"),
        ("agent", "coach", "there is an agent 'coach' already"),
        ("channel", "telegram", "there is a channel 'telegram' already"),
        ("agent", "stop", "every agent has a command /stop"),
        ("agent", "barber", ""),
    ],
)
def test_a_name_that_cannot_be_used_says_why(kind: str, name: str, words: str) -> None:
    problem = problem_of(kind, name)
    assert words in problem if words else not problem


def test_a_key_without_a_text_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info, locale = tmp_path / "hatter-1.0.dist-info", tmp_path / "hatter_locale" / "en" / "LC_MESSAGES"
    info.mkdir()
    locale.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hatter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tenk.agents]\nhatter = hatter:HATTER\n")
    made = files_of("agent", "hatter")
    assert 'include = ["/hatter.py", "/hatter_locale"]' in made["pyproject.toml"]
    texts = "from pathlib import Path\nfrom agent.catalogue import Catalogue\n"
    texts += 'TEXTS = Catalogue(Path(__file__).parent / "hatter_locale", "hatter")\n'
    code = made["hatter.py"].replace('"There is no zone {zone}. Write one like Europe/Madrid."', '"hatter.no_zone"')
    code = code.replace('"The time"', '"hatter.time"').replace('title="Hatter",', 'title="Hatter", texts=TEXTS,')
    (tmp_path / "hatter.py").write_text(texts + code)
    (tmp_path / "gateway.toml").write_text('[agent]\nproduct = "hatter"\n[tenants.acme]\n')
    monkeypatch.syspath_prepend(tmp_path)
    settings = load(tmp_path / "gateway.toml", {})
    (told,) = missing_texts(settings)
    assert told.startswith(f"The agent hatter has no texts: there is no {locale / 'hatter.mo'}. Compile its .po files")
    catalog = Catalog(locale="en")
    catalog.add("hatter.time", "The time")
    with (locale / "hatter.mo").open("wb") as file:
        write_mo(file, catalog)
    monkeypatch.delitem(sys.modules, "hatter")
    line = next(number for number, text in enumerate((texts + code).splitlines(), 1) if "no_zone" in text)
    assert [f'The agent hatter: hatter.py:{line}: there is no text "hatter.no_zone"; people read the key'] == [
        *missing_texts(settings)
    ]


@pytest.mark.gate
@pytest.mark.timeout(240)
def test_what_is_made_installs_passes_its_test_and_its_types(tmp_path: Path) -> None:
    projects = {kind: tmp_path / kind for kind in KINDS}
    for kind, project in projects.items():
        assert 0 == tenk("new", kind, f"{kind}_of_mine", str(project), home=tmp_path).returncode
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60)
    (site,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
    python = str(tmp_path / "venv" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-build-isolation"]
    ran([*pip, "--no-deps", *(word for project in projects.values() for word in ("-e", str(project)))], tmp_path)
    for project in projects.values():
        ran([python, "-m", "pytest", "-q"], project)
    ran([python, "-m", "mypy", "--strict", *(str(file) for file in tmp_path.rglob("*_of_mine.py"))], tmp_path)


def ran(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stdout + done.stderr


HOOKS = """
from agent.errors import Refused

def check(given):
    if given["tool"] == "broken":
        raise KeyError("a bug")
    if given["input"]["amount"] > 20:
        raise Refused("At most {most}.", most=20)
    return {"replace": {"amount": 1}, "context": "It is Monday.", "decision": "allow"}
"""


def test_a_hook_is_tried_as_the_gateway_calls_it(tmp_path: Path) -> None:
    (tmp_path / "house_rules.py").write_text(HOOKS)
    (tmp_path / "gateway.toml").write_text(
        '[[hooks]]\npoint = "pre_tool"\npython = "house_rules:check"\ntools = ["pay*", "broken"]\n'
    )
    (tmp_path / "call.json").write_text('{"point": "pre_tool", "tool": "pay", "input": {"amount": 5}}')

    def tried(*words: str) -> tuple[int, str]:
        given = ("hook", "try", "house_rules:check", *words, "--config", str(tmp_path / "gateway.toml"))
        done = tenk(*given, home=tmp_path, PYTHONPATH=str(tmp_path))
        return done.returncode, done.stdout + done.stderr

    code, said = tried("--sample", "pre_tool")
    assert (0, "pay") == (code, json.loads(said.partition("\ndecision")[0])["tool"])
    assert said.endswith("decision: deny\nreason:   At most 20.\n")
    assert (0, 'decision: allow\nreason:   the hook house_rules:check says so\nreplace:  {"amount": 1}\n') == (
        tried(str(tmp_path / "call.json"))[0],
        tried(str(tmp_path / "call.json"))[1].partition("context")[0],
    )
    (tmp_path / "call.json").write_text('{"tool": "smell"}')
    assert (0, "It is not called: its tools are pay*, broken, and this is 'smell'.\n") == tried(
        str(tmp_path / "call.json")
    )
    (tmp_path / "call.json").write_text('{"tool": "broken"}')
    assert "It failed: it raised KeyError." in tried(str(tmp_path / "call.json"))[1]
    for text, words in (("[]", "holds no JSON object"), ("{", "is not JSON"), ('{"point": "x"}', "point has to be")):
        (tmp_path / "call.json").write_text(text)
        code, said = tried(str(tmp_path / "call.json"))
        assert (1, True) == (code, words in said)
    program = tmp_path / "check.sh"
    program.write_text('#!/bin/sh\necho \'{"decision": "deny", "reason": "Closed."}\'\n')
    (tmp_path / "gateway.toml").write_text(f'[[hooks]]\npoint = "pre_tool"\ncommand = ["sh", "{program}"]\n')
    given = ("hook", "try", str(program), "--sample", "pre_tool", "--config", str(tmp_path / "gateway.toml"))
    assert "reason:   Closed." in tenk(*given, home=tmp_path).stdout
    (tmp_path / "gateway.toml").write_text('[[hooks]]\npoint = "pre_tool"\npython = "house_rules:check"\n')
    assert "is called at pre_tool, not at stop" in tried("--sample", "stop")[1]
    assert "Give a FILE or --sample POINT" in tried()[1]
