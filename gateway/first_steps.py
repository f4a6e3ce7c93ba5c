"""The next steps of a newcomer, printed at the terminal of a gateway once it serves."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.access.config import Policy, Role
from gateway.access.invites import FOUNDING
from gateway.access.ranks import BY_CLI
from gateway.command_line import CommandLine, of_process
from gateway.config.settings import Settings
from gateway.http.server import HttpServer
from gateway.operators.service import Operators
from gateway.store import people
from gateway.store.engine import Store

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Founding:
    """The ways to become the owner of a bot that has none."""

    link: str | None  # None: only by a code from the bot
    asks_bots: bool  # bots answer strangers with a code


async def show_first_steps(
    server: HttpServer, store: Store, settings: Settings, operators: Operators, show: Callable[[str], None] | None
) -> None:
    """Show what to do next once HTTP is served; without a terminal (`show` is None), log only that an owner is missing.

    A link that makes its first visitor the owner works once, for an hour, while there is no owner. It replaces an
    earlier start's and is never logged.
    """
    await server.started.wait()
    founding, tenk = None, of_process()
    by_link = server.on_loopback and settings.channels.web.enabled
    direct = settings.access.rules_of("web", "main").direct
    if direct is Policy.PAIRING and not await store.read(
        lambda connection: people.has_owner(connection, store.home_tenant)
    ):
        if show is None:
            if by_link:
                command = tenk.command("invite", "--role", Role.OWNER)
                log.info("no_owner_yet", mend=f"approve a pairing request, or open the link that `{command}` prints")
            return
        link = None
        if by_link:
            link = f"{server.public_url}?invite={(await operators.invite_by(BY_CLI, FOUNDING)).code}"
        founding = Founding(link, asks_bots=any(settings.channels.accounts()) or link is None)
    if show is not None:
        show(first_steps(settings, server.public_url, founding, tenk, plays=server.plays))


def first_steps(
    settings: Settings, url: str, founding: Founding | None, tenk: CommandLine, *, plays: bool = False
) -> str:
    """Return what runs, where, and the steps that are left: become the owner, try it, connect."""
    has_page, has_accounts = settings.channels.web.enabled, any(settings.channels.accounts())
    steps = [] if founding is None else [_become_owner(founding, tenk)]
    if founding is not None or not has_accounts:
        page = (
            "Try it: say hello on that page, or type /help there." if has_page else "Try it: in another terminal, type"
        )
        more = [] if has_page else [tenk.command("chat")]
        steps.append([page, *more, *([f"{url}playground simulates Telegram, Discord and Slack."] if plays else [])])
    missing = [*([] if has_accounts else ["Telegram, Discord or Slack"])]
    missing += ["a language model"] if settings.model.name == "offline" and not settings.agent.is_bridged else []
    if missing:
        steps.append([f"Connect {', and '.join(missing)}: press Ctrl-C, then type", tenk.command("init")])
    where = f" at {url}" if has_page else ""
    lines = [f"\n{settings.channels.web.title or 'The bot'} runs{where}. Ctrl-C stops it."]
    for number, (first, *others) in enumerate(steps, 1):
        lines += [f"  {number}. {first}", *(f"     {other}" for other in others)]
    return "\n".join([*lines, ""] if steps else lines)


def _become_owner(founding: Founding, tenk: CommandLine) -> list[str]:
    by_code = ["write to your bot. It answers with a code; type in another terminal:"]
    by_code.append(tenk.command("pairing", "approve", "CODE"))
    if founding.link is None:
        return [f"Become the owner: {by_code[0]}", by_code[1]]
    by_link = ["Become the owner: open this link in a browser. It works once, within an hour.", founding.link]
    return [*by_link, f"Or {by_code[0]}", by_code[1]] if founding.asks_bots else by_link
