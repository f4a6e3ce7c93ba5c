"""Entry points of other distributions, found by name."""

import difflib
import sys
import traceback
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from gateway.errors import SettingsError

AGENTS = "tenk.agents"
"""Group of entry points that name a `gateway.product.AgentProduct`, under the product's name."""

TOOLS = "tenk.tools"
"""Group of entry points that name a callable, usually a class, which returns an object with `@tool` methods."""

HOOKS = "tenk.hooks"
"""Group of entry points that name one or several `agent.hooks.points.Hook`, or a callable that returns them."""

SKILLS = "tenk.skills"
"""Group of entry points that name a package whose folder has skills; an agent's own are under its product's name."""

KINDS = {AGENTS: "agent", TOOLS: "tool", HOOKS: "hook", SKILLS: "skill set"}

CHANNELS = "tenk.channels"
"""Group of entry points that name a channel's class; `channels.registry` loads them."""

MODELS = "tenk.models"
"""Group of entry points that make a model; `agent.models.select` loads them."""

OURS = "tenk-gateway"
"""Our own distribution."""


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """An entry point of another distribution, which runs if the configuration names it."""

    group: str  # without "tenk.": agents | tools | hooks | skills | channels | models
    name: str
    place: str  # module:attribute
    distribution: str  # its name and version


FLAWS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    SystemExit,
    TypeError,
    ValueError,
)
"""Errors that a foreign module may raise at import, including pydantic's for fields without a schema."""


def list_offered(group: str) -> list[str]:
    """Return the names in a group, sorted, without importing anything."""
    return sorted({point.name for point in entry_points(group=group)})


def list_installed() -> list[InstalledPlugin]:
    """Return the entry points of other distributions, by group and name, without importing anything."""
    found = []
    for group in (*KINDS, CHANNELS, MODELS):
        for point in entry_points(group=group):
            if point.dist is None or point.dist.name != OURS:
                whose = "an unknown distribution" if point.dist is None else f"{point.dist.name} {point.dist.version}"
                found.append(InstalledPlugin(group.removeprefix("tenk."), point.name, point.value, whose))
    return sorted(found, key=lambda plugin: (plugin.group, plugin.name, plugin.distribution))


def check_offered(group: str, name: str) -> None:
    """Check that a name exists, without importing it.

    Raises:
        SettingsError: it does not exist; the message lists the names.
    """
    _find(group, name, tuple(sys.path))


@lru_cache(64)
def _find(group: str, name: str, _path: tuple[str, ...]) -> EntryPoint:
    """Find an entry point, cached: each search reads the metadata of all distributions."""
    point = next(iter(entry_points(group=group, name=name)), None)
    if point is not None:
        return point
    names = list_offered(group)
    near = difflib.get_close_matches(name, names, 1, cutoff=0.6)
    meant = f'; did you mean "{near[0]}"?' if near else ""
    raise SettingsError(f'there is no {KINDS[group]} "{name}"{meant}; there are: {", ".join(names) or "none"}')


def load_extension(group: str, name: str) -> object:
    """Import and return the object of an entry point.

    Raises:
        SettingsError: it does not exist, or cannot be imported.
    """
    point = _find(group, name, tuple(sys.path))
    try:
        loaded: object = point.load()
    except FLAWS as error:
        raise SettingsError(
            f"the {KINDS[group]} {name!r} ({point.value}) cannot be imported: "
            f"{first_words(error)}{_place_in(point.module, error)}"
        ) from error
    return loaded


def _place_in(module: str, error: BaseException) -> str:
    """Return the file and line of a module's package that raised an error, in brackets; "" if none did."""
    package = module.partition(".")[0]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if package == file.stem or package in file.parts:
            return f" ({file.name}:{frame.lineno})"
    return ""


def find_folder(group: str, name: str) -> Path:
    """Return the folder of the package that an entry point names; none of its code runs.

    Raises:
        SettingsError: the entry point or the folder does not exist.
    """
    point = _find(group, name, tuple(sys.path))
    top, *below = point.module.split(".")
    spec = find_spec(top)
    places = (spec and spec.submodule_search_locations) or ()
    for folder in (Path(place, *below) for place in places):
        if folder.is_dir():
            return folder
    raise SettingsError(f"the {KINDS[group]} {name!r} ({point.value}) names no folder of a package")


def find_modules(group: str, name: str) -> list[Path]:
    """Return the Python files of the module or package that an entry point names; none if it is ours."""
    point = _find(group, name, tuple(sys.path))
    spec = None if point.dist is not None and point.dist.name == OURS else find_spec(point.module.partition(".")[0])
    if spec is None:
        return []
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    return sorted(path for folder in folders for path in folder.rglob("*.py")) or [Path(str(spec.origin))]


def first_words(error: BaseException) -> str:
    """Return a foreign error in one line."""
    words = str(error).strip().partition("\n")[0]
    return words if isinstance(error, ImportError) else f"{type(error).__name__}: {words}"
