"""`tenk init`: asks for what a first start needs, tries each token, and writes the configuration.

It works from flags alone. Nothing is written before all was taken, and nothing that is there is replaced unasked.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from channels.chat.probing import Asker, Finding, load_probe
from gateway.cli.root import config_option
from gateway.command_line import of_process
from gateway.config.editing import Draft, draft
from gateway.config.environment import API_BASES, DISCORD_MAIN, SLACK_MAIN, TELEGRAM_MAIN
from gateway.config.settings import Settings
from gateway.config.sources import KeyPath
from gateway.errors import GatewayError, SettingsError
from gateway.ops.doctor import check_models
from gateway.safety.private_files import check_home

EXAMPLE = Path(sys.prefix) / "share" / "tenk-gateway" / "gateway.toml"
"""Where the wheel puts the explained configuration."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is asked for, and where it goes."""

    option: str  # of the command line
    variable: str
    key: KeyPath
    where: str  # a person gets it


@dataclass(frozen=True, slots=True)
class Platform:
    """One platform that can be connected."""

    name: str
    title: str
    secrets: tuple[Secret, ...]


PLATFORMS = (
    Platform(
        "telegram",
        "Telegram",
        (
            Secret(
                "telegram_token",
                "TELEGRAM_BOT_TOKEN",
                (*TELEGRAM_MAIN, "token"),
                "Write to @BotFather, send /newbot, and copy the token",
            ),
        ),
    ),
    Platform(
        "discord",
        "Discord",
        (
            Secret(
                "discord_token",
                "DISCORD_BOT_TOKEN",
                (*DISCORD_MAIN, "token"),
                "discord.com/developers/applications: New Application, page Bot: turn on Message Content Intent, press "
                "Reset Token, and copy the token",
            ),
        ),
    ),
    Platform(
        "slack",
        "Slack",
        (
            Secret(
                "slack_bot_token",
                "SLACK_BOT_TOKEN",
                (*SLACK_MAIN, "bot_token"),
                "api.slack.com/apps: Create New App, From an app manifest (`tenk slack-manifest` prints it), Install "
                "App, and copy the Bot User OAuth Token (xoxb-)",
            ),
            Secret(
                "slack_app_token",
                "SLACK_APP_TOKEN",
                (*SLACK_MAIN, "app_token"),
                "There on Basic Information: App-Level Tokens, with connections:write (xapp-)",
            ),
        ),
    ),
)


@dataclass(slots=True)
class Answers:
    """What was given so far."""

    values: dict[KeyPath, Any] = field(default_factory=dict)

    def set_platform(self, platform: Platform, tokens: Sequence[str], environ: Mapping[str, str]) -> None:
        """Its tokens; and its other server, where the environment names one: it is the one that took them."""
        for secret, token in zip(platform.secrets, tokens, strict=True):
            self.values[secret.key] = token.strip()
        base = environ.get(API_BASES[platform.name][0], "").strip()
        if base:
            self.values[(*platform.secrets[0].key[:-1], "api_base")] = base


def _token_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for platform in reversed(PLATFORMS):
        for secret in reversed(platform.secrets):
            name = f"--{secret.option.replace('_', '-')}"
            command = click.option(name, metavar="TOKEN", envvar=secret.variable, help=f"{secret.where}.")(command)
    return command


@click.command("init")
@_token_options
@click.option("--model", metavar="NAME", envvar="TENK_MODEL", help="offline, openai:NAME or anthropic:NAME.")
@click.option("--model-key", metavar="KEY", help="Its provider's key.")
@click.option("--model-url", metavar="URL", help="The root of its API, for a server of your own.")
@click.option(
    "--public-url", metavar="URL", envvar="TENK_PUBLIC_URL", help="Where people reach it through a proxy: https://..."
)
@click.option("--replace", is_flag=True, help="Replace what is configured already without asking.")
@click.option("--check/--no-check", "tries", default=True, help="Try each token before it is written.")
@config_option
def command(
    model: str | None,
    model_key: str | None,
    model_url: str | None,
    public_url: str | None,
    replace: bool,
    tries: bool,
    config_path: Path | None,
    **tokens: str | None,
) -> None:
    """Write the configuration of a first start. What no option says is asked for at a terminal, and else left out.

    Options can be given by the environment, too (TELEGRAM_BOT_TOKEN, ...), which no list of processes shows.
    """
    os.umask(0o077)
    answers = Answers()
    model_values: dict[KeyPath, str | None] = {
        ("model", "name"): model,
        ("model", "api_key"): model_key,
        ("model", "base_url"): model_url,
    }
    given = {key: value.strip() for key, value in model_values.items() if value}
    if model_key and not (model or model_url):
        raise click.UsageError("say which model that is for: --model openai:NAME or --model anthropic:NAME")
    answers.values |= given | ({("http", "public_url"): public_url.strip()} if public_url else {})
    for platform in PLATFORMS:
        found = [tokens[secret.option] or "" for secret in platform.secrets]
        if any(found):
            answers.set_platform(platform, found, os.environ)
    talk = _Talk(config_path, tries)
    if not answers.values and sys.stdin.isatty():
        talk.ask_everything(answers)
    elif problems := talk.problems(answers.values, [platform.name for platform in PLATFORMS], asks_model=bool(given)):
        raise GatewayError("\n".join([*problems, "Nothing was written."]))
    _write(talk.draft(answers.values), replace=replace)


class _Talk:
    """A conversation with whoever sets it up, and what the platforms say to it."""

    def __init__(self, config_path: Path | None, tries: bool) -> None:
        self._path = config_path
        self._tries = tries

    def draft(self, values: Mapping[KeyPath, Any]) -> Draft:
        """The configuration with these values; without what the environment says, which may be gone tomorrow."""
        kept = {name: value for name, value in os.environ.items() if name in ("TENK_HOME", "DATABASE_URL")}
        beginning = EXAMPLE.read_text(encoding="utf-8") if EXAMPLE.is_file() else ""
        return draft(self._path, kept, values, beginning, is_new=True)

    def problems(self, values: Mapping[KeyPath, Any], platforms: Sequence[str], *, asks_model: bool) -> list[str]:
        """Why these values cannot be used, a line each; what else is to be done is only printed."""
        try:
            settings = self.draft(values).settings
        except SettingsError as error:
            return str(error).splitlines()
        if not self._tries:
            return []
        return asyncio.run(
            _try_out(settings, {key[1] for key in values if key[0] == "channels"} & {*platforms}, asks_model)
        )

    def ask_everything(self, answers: Answers) -> None:
        """Platform by platform, then the model, then where links lead; each until it is taken, or left out."""
        click.echo("Press return to leave something out. Nothing is written before the end.\n")
        for platform in PLATFORMS:
            self._ask_platform(platform, answers)
        self._ask_model(answers)
        if any(key[0] == "channels" for key in answers.values):
            self._ask_public_url(answers)

    def _ask_platform(self, platform: Platform, answers: Answers) -> None:
        click.echo(f"{platform.title}")
        while True:
            tokens: list[str] = []
            for secret in platform.secrets:
                click.echo(f"  {secret.where}.")
                tokens.append(_ask(f"  {secret.option.replace('_', ' ')}", hidden=True))
                if not tokens[-1]:
                    return
            tried = Answers(dict(answers.values))
            tried.set_platform(platform, tokens, os.environ)
            problems = self.problems(tried.values, [platform.name], asks_model=False)
            if not problems:
                answers.values = tried.values
                return
            click.echo("\n".join(f"  {problem}" for problem in problems))

    def _ask_model(self, answers: Answers) -> None:
        click.echo("Model\n  Without one an offline coach answers by rules.")
        while True:
            name = _ask("  openai:NAME, anthropic:NAME")
            if not name or name == "offline":
                return
            url = _ask("  URL of a server of your own, if it is one")
            key = _ask("  key", hidden=True)
            given = {("model", "name"): name, ("model", "base_url"): url, ("model", "api_key"): key}
            values = answers.values | {path: value for path, value in given.items() if value}
            if self._takes(answers, values, asks_model=True):
                return

    def _ask_public_url(self, answers: Answers) -> None:
        click.echo(
            "Public address\n  Links that the bot sends (its console, invitations) open on other machines only by an "
            "address of yours,\n  such as https://bot.example.com; docs/install.md has how."
        )
        while url := _ask("  https://..."):
            if self._takes(answers, answers.values | {("http", "public_url"): url}, asks_model=False):
                return

    def _takes(self, answers: Answers, values: dict[KeyPath, Any], *, asks_model: bool) -> bool:
        """Whether these values can be used; they are the answers then, else it is said why not."""
        problems = self.problems(values, [], asks_model=asks_model)
        if not problems:
            answers.values = values
        click.echo("\n".join(f"  {problem}" for problem in problems), nl=bool(problems))
        return not problems


def _ask(what: str, *, hidden: bool = False) -> str:
    answer: str = click.prompt(what, default="", show_default=False, hide_input=hidden)
    return answer.strip()


async def _try_out(settings: Settings, platforms: Collection[str], asks_model: bool) -> list[str]:
    """Ask every platform, and the model; prints what was found, and returns what is refused."""
    refused: list[str] = []
    async with Asker() as asker:
        for channel, account in settings.channels.accounts():
            probe = load_probe(channel) if channel in platforms else None
            if probe is not None:
                found = await probe(account, asker)
                refused += [_words(finding) for finding in found if _is_refusal(finding, found)]
                _tell([finding for finding in found if not _is_refusal(finding, found)])
    if asks_model:
        found = await check_models(settings.model)
        refused += [_words(finding) for finding in found if finding.to_do]
        _tell([finding for finding in found if not finding.to_do])
    return refused


def _is_refusal(finding: Finding, found: Sequence[Finding]) -> bool:
    """A token that is not taken, or nobody there to take it; what may be mended later is none."""
    return bool(finding.to_do) and (bool(finding.key) or finding is found[0])


def _words(finding: Finding) -> str:
    key = f" ({'.'.join(finding.key)})" if finding.key else ""
    return f"{finding.part}: {finding.words}{key}; {finding.to_do}"


def _tell(found: Sequence[Finding]) -> None:
    for finding in found:
        click.echo(f"  {'TO DO' if finding.to_do else 'ok'}  {_words(finding) if finding.to_do else finding.words}")


def _write(made: Draft, *, replace: bool) -> None:
    """Write it, unless it would replace what nobody agreed to."""
    for key in () if replace else made.replaced_keys():
        what = f"{made.before.place_of(key)}: {'.'.join(key)} is set already"
        if not sys.stdin.isatty():
            raise GatewayError(f"{what}; --replace replaces it. Nothing was written.")
        click.confirm(f"{what}. Replace it?", abort=True)
    check_home(made.settings.home)
    for path in made.write():
        click.echo(f"{path} is written.")
    tenk = of_process()
    for hint in made.settings.hints(tenk.command("run")):
        click.echo(hint)
    click.echo(f"Start it:      {tenk.command('run')}")
    if any(made.settings.channels.accounts()):
        click.echo("Write to your bot; it answers with a code, and the first one let in becomes its owner:")
        click.echo(f"               {tenk.command('pairing', 'approve', 'CODE')}")
    else:
        click.echo("It prints a link; whoever opens it first becomes its owner.")
    click.echo(f"If it is not as it should be: {tenk.command('doctor')}")
