"""Draws the console's pages in their visitor's language: templates, and how a value of each kind is written. Pure."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from gateway.safety.names import second, short, short_of
from gateway.texts import HARNESS

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

CODE = re.compile(r"`([^`]+)`")


class ConsoleTemplates:
    """The templates, read when the first page is drawn."""

    @cached_property
    def _templates(self) -> "Environment":
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  0.1 s, for who opens a page

        made = Environment(loader=PackageLoader("gateway.console"), autoescape=True, undefined=StrictUndefined)
        made.trim_blocks = made.lstrip_blocks = True
        made.filters |= {
            "when": second, "short": short, "short_of": short_of, "usd": _usd, "ago": _ago, "json_text": json.dumps,
            "span": _span, "code": _code,
        }  # fmt: skip
        return made

    def draw(self, template: str, locale: str | None, data: Mapping[str, object]) -> str:
        """A page or part with `t` and `plural` for its words."""
        words = {"t": partial(HARNESS.text, locale), "plural": partial(HARNESS.plural, locale)}
        return self._templates.get_template(template).render({**data, **words})


def _code(words: str) -> "Markup":
    """Words in which what stands between backticks is code."""
    from markupsafe import Markup, escape  # noqa: PLC0415  as above

    return Markup(CODE.sub(r"<code>\1</code>", str(escape(words))))  # noqa: S704  escaped first


def _usd(microusd: object) -> str:
    """A cost; "" where it is unknown."""
    return f"${microusd / 1_000_000:,.4f}" if isinstance(microusd, int) else ""


def _ago(seconds: object) -> str:
    passed = int(seconds) if isinstance(seconds, int | float) else 0
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if passed >= size:
            return f"{passed // size} {unit}"
    return f"{passed} s"


def _span(later: object, earlier: object) -> str:
    """How long from one instant to the other."""
    took_s = (datetime.fromisoformat(str(later)) - datetime.fromisoformat(str(earlier))).total_seconds()
    return f"+{took_s:.2f} s" if took_s < 100 else f"+{_ago(took_s)}"
