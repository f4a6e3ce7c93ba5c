"""Texts that the code of an installed agent names and its catalogue lacks."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from agent.catalogue import DEFAULT, Catalogue
from channels.messages import DEFAULT_TENANT
from gateway.config.settings import Settings
from gateway.extensions import AGENTS, find_modules
from gateway.product import load_product

MOST = 20
KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
SAYING = frozenset({"Refused", "say", "text", "plural", "Command", "CommandOption"})
"""Functions and classes that take a key of a text."""


def missing_texts(settings: Settings) -> Iterator[str]:
    """Yield a line for each text that an agent of another distribution lacks, at most `MOST` of one."""
    own = [settings.of_tenant(name).agent for name in (DEFAULT_TENANT, *settings.tenants)]
    for name in dict.fromkeys(agent.product for agent in own if not agent.is_bridged):
        modules = find_modules(AGENTS, name)
        product = load_product(name)
        if modules and product.texts is not None and not product.texts.file_of(DEFAULT).is_file():
            yield (
                f"The agent {name} has no texts: there is no {product.texts.file_of(DEFAULT)}. Compile its .po files "
                "with pybabel, and include the folder in the package."
            )
        else:
            lines = (line for module in modules for line in _missing_in(module, product.catalogue))
            yield from (f"The agent {name}: {line}" for _, line in zip(range(MOST), lines, strict=False))


def _missing_in(module: Path, texts: Catalogue) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_bytes())):
        if not isinstance(node, ast.Call) or _name_of(node.func) not in SAYING:
            continue
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            key = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""
            if KEY.fullmatch(key) and key == texts.text(DEFAULT, key) and key == texts.plural(DEFAULT, key, 1):
                yield f'{module.name}:{given.lineno}: there is no text "{key}"; people read the key'


def _name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
