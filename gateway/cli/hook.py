"""`tenk hook`: try a hook."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import click
from pydantic import JsonValue

from agent.hooks.chain import HookAnswer, HookChain
from agent.hooks.points import ABOUT_TOOLS, Hook, HookConfig, HookPoint
from channels.tenant import DEFAULT_TENANT
from gateway.cli.client import printable, tenant_option
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.config.settings import Settings
from gateway.errors import GatewayError
from gateway.product import load_hook, load_offered_hooks, load_product

Given = Mapping[str, JsonValue]

CHAT: Given = {
    "sender": "telegram:42",
    "tenant": "default",
    "channel": "telegram",
    "account": "main",
    "chat": "42",
}
PERSON: Given = {"user": "01a223e7e3857e61", "tenant": "default", "agent": ""}
CALL: Given = {
    "tool": "pay",
    "input": {"amount": 25},
    "risk": "UNKNOWN",
    "read_only": False,
    "destructive": False,
    "call_key": "01a223e7/0/0",
    **PERSON,
}
SAMPLES: Mapping[HookPoint, Given] = {
    HookPoint.SESSION_START: CHAT,
    HookPoint.USER_PROMPT: {**CHAT, "text": "I practised guitar for 45 minutes."},
    HookPoint.PRE_TOOL: CALL,
    HookPoint.POST_TOOL: {
        **CALL,
        "result": {"success": True, "data": {"paid": 25}, "error": None},
        "outcome": "done",
    },
    HookPoint.PERMISSION_DENIED: {**CALL, "reason": "the person said no."},
    HookPoint.PRE_COMPACT: PERSON,
    HookPoint.STOP: {**PERSON, "turn": "01a223e7", "text": "Well done."},
    HookPoint.SESSION_END: CHAT,
}
"""Inputs like those that a hook gets, without `point`."""


@click.group("hook")
def command() -> None:
    """Try a hook without a conversation."""


@command.command("try")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True), required=False)
@click.option(
    "--sample",
    type=click.Choice([point.value for point in HookPoint]),
    help="Use a sample of what a hook gets at this point.",
)
@config_option
def try_(name: str, file: Path | None, sample: str | None, config_path: Path | None) -> None:
    """Call the hook NAME with the JSON object in FILE ("-": standard input), and show what it decides.

    NAME is an entry point of tenk.hooks, or the function, the program or the script that a table [[hooks]] names. A
    sample is printed first: it is a beginning for a FILE of your own.
    """
    if (file is None) == (sample is None):
        raise click.UsageError("Give a FILE or --sample POINT.")
    settings = prepare(config_path)
    hooks = _find(settings.of_tenant(tenant_option() or DEFAULT_TENANT), name)
    points = ", ".join(sorted({hook.point for hook in hooks}))
    if file is None:
        point = HookPoint(str(sample))
        given = dict(SAMPLES[point])
    else:
        point, given = _read(file, hooks[0].point)
    hooks = [hook for hook in hooks if hook.point is point]
    if not hooks:
        raise click.UsageError(f"{name} is called at {points}, not at {point}.")
    if file is None:
        click.echo(json.dumps({"point": point} | given, indent=2))
    tool = str(given.get("tool", ""))
    if point in ABOUT_TOOLS and not any(fnmatchcase(tool, pattern) for hook in hooks for pattern in hook.tools):
        click.echo(f"It is not called: its tools are {', '.join(hooks[0].tools)}, and this is {tool!r}.")
        return
    texts = load_product(settings.agent.product).catalogue
    answer = asyncio.run(HookChain(hooks, texts).ask(point, given, tool))
    for line in _lines(answer):
        click.echo(printable(line))


def _find(settings: Settings, name: str) -> list[Hook]:
    """Return the hooks of this name, in their order.

    Raises:
        SettingsError: no hook has the name, or it cannot be loaded.
    """
    configured = [hook for config in settings.hooks if name in _names(config) for hook in load_hook(config)]
    return configured or list(load_offered_hooks(name))


def _names(config: HookConfig) -> tuple[str | None, ...]:
    return config.use, config.python, *config.command


def _read(file: Path, point: HookPoint) -> tuple[HookPoint, dict[str, JsonValue]]:
    """Return the point and the input in a file."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        given = json.loads(text)
    except ValueError as error:
        raise GatewayError(f"{file} is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise GatewayError(f"{file} holds no JSON object; `--sample {point}` prints one")
    try:
        return HookPoint(given.pop("point", point)), given
    except ValueError:
        raise GatewayError(f"{file}: point has to be one of: {', '.join(HookPoint)}") from None


def _lines(answer: HookAnswer) -> Iterator[str]:
    for why in answer.failures:
        yield f"It failed: {why}."
    if answer.decision is not None:
        yield f"decision: {answer.decision}"
        yield f"reason:   {answer.reason}"
    if answer.replace is not None:
        yield f"replace:  {json.dumps(answer.replace, ensure_ascii=False)}"
    if answer.context:
        yield f"context:  {answer.context}"
    if answer == HookAnswer():
        yield "It decides nothing: everything goes on."
