"""`tenk new`: a distribution with an agent, a tool, a hook or a channel of your own."""

import keyword
import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from string import Template

import click

from gateway.command_set import list_commands
from gateway.config.settings import Settings
from gateway.errors import GatewayError
from gateway.extensions import list_offered
from gateway.product import AgentProduct, load_product
from gateway.store.engine import Store, engine_for

TEMPLATES = Path(__file__).parent / "templates"
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@dataclass(frozen=True, slots=True)
class PackageKind:
    """One kind of distribution."""

    what: str  # with its article
    config: str  # lines of the configuration that use it
    then: str  # what to do once it is configured


KINDS = {
    "agent": PackageKind(
        "An agent", '[agent]\nproduct = "$name"', "It needs a model: see `[model]` there. Restart the gateway."
    ),
    "tool": PackageKind(
        "A tool", '[agent]\ntools = ["$name"]', "Restart the gateway, and ask your agent to roll a die."
    ),
    "hook": PackageKind(
        "A hook", '[[hooks]]\nuse = "$name"', "`tenk hook try $name --sample user_prompt` shows what it decides."
    ),
    "channel": PackageKind(
        "A channel", "[channels.$name.main]\nport = 7000", "Restart the gateway. `nc 127.0.0.1 7000` talks to it."
    ),
}


@click.command("new")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), required=False)
def command(kind: str, name: str, directory: Path | None) -> None:
    """Make a distribution with an agent, tool, hook or channel called NAME.

    It is written to DIRECTORY, by default to ./NAME: code that runs, a test, and a README that says how to install it.
    """
    if problem := problem_of(kind, name):
        raise GatewayError(problem)
    directory = directory or Path(name)
    if directory.exists() and any(directory.iterdir()):
        raise GatewayError(f"{directory} is not empty")
    files = files_of(kind, name)
    for file, text in files.items():
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        (directory / file).write_text(text, encoding="utf-8")
    config = Template(KINDS[kind].config).substitute(name=name)
    click.echo(f"Made {directory} with {', '.join(files)}.")
    click.echo(f"Install and test it in the gateway's environment:\n\n  cd {directory}\n  pip install -e '.[test]'")
    click.echo(f"  pytest\n  mypy\n\nThen write into gateway.toml:\n\n{_indent(config)}")


def problem_of(kind: str, name: str) -> str:
    """Return why this cannot be the name of a new distribution; "" if it can."""
    if not NAME.fullmatch(name):
        return f"{name!r} cannot be a name: write 1 to 32 small letters, digits and underscores, a letter first"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return f"{name!r} is a word of Python; take another"
    if name in sys.stdlib_module_names:
        return f"{name!r} is a module of Python; take another"
    if name in list_offered(f"tenk.{kind}s"):
        return f"there is {KINDS[kind].what.lower()} {name!r} already; take another name"
    if find_spec(name) is not None:
        return f"there is a module {name!r} already; take another name"
    if kind == "tool" and name in _known_tools():
        return f"there is a tool {name!r} already; take another name"
    if kind == "agent":
        try:
            list_commands(AgentProduct(name=name, title=name, prompt=lambda *_: {}))
        except ValueError:
            return f"every agent has a command /{name}, and an agent's name is a command, too; take another"
    return ""


def _known_tools() -> set[str]:
    """Return the names of the tools of the agent that answers if none is configured."""
    product = load_product(Settings().agent.product)
    return {tool.name for tool in product.make_tools(Store(engine_for("sqlite:///never-opened.db")))}


def files_of(kind: str, name: str) -> dict[str, str]:
    """Return the files of a distribution with their texts."""
    label = name.replace("_", " ").title()
    what = KINDS[kind]
    values = {
        "name": name,
        "group": f"{kind}s",
        "target": name.upper() if kind in {"agent", "hook"} else label.replace(" ", ""),
        "label": label,
        "title": what.what,
    }
    values["files"] = f'"/{name}.py", "/{name}_locale"' if kind == "agent" else f'"/{name}.py"'
    values |= {key: Template(getattr(what, key)).substitute(values) for key in ("config", "then")}
    places = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{name}.py": f"{kind}/module.py",
        f"tests/test_{name}.py": f"{kind}/test.py",
    }
    return {file: Template(_read(place)).substitute(values) for file, place in places.items()}


def _read(place: str) -> str:
    return (TEMPLATES / f"{place}.txt").read_text(encoding="utf-8")


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
