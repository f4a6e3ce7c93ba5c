"""`tenk init`: a setup that asks for tokens and a model, checks them, and writes the configuration.

Options alone are enough. It writes only after every value is valid, and asks before it replaces a value.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from agent.catalogue import NAMES
from channels.chat.probing import Asker, Finding, load_probe
from gateway import telemetry
from gateway.cli.root import config_option
from gateway.command_line import of_process
from gateway.commands.session import find_zone, near_zones
from gateway.config.editing import Draft, draft
from gateway.config.environment import API_BASES, DISCORD_MAIN, MODEL_KEYS, SLACK_MAIN, TELEGRAM_MAIN
from gateway.config.settings import Settings
from gateway.config.sources import KeyPath
from gateway.errors import GatewayError, SettingsError
from gateway.ops.doctor import check_models
from gateway.ops.home_check import check_disk
from gateway.ops.lock import LOCK_NAME, why_silent
from gateway.safety.private_files import check_home
from gateway.safety.redaction import Redactor

NAME: KeyPath = ("channels", "web", "title")
LANGUAGE: KeyPath = ("gateway", "language")
TIMEZONE: KeyPath = ("gateway", "timezone")
MODEL_KEY: KeyPath = ("model", "api_key")
MODEL_URL: KeyPath = ("model", "base_url")

OPTIONS: Mapping[str, KeyPath] = {
    "name": NAME,
    "language": LANGUAGE,
    "timezone": TIMEZONE,
    "model": ("model", "name"),
    "model_key": MODEL_KEY,
    "model_url": MODEL_URL,
    "public_url": ("http", "public_url"),
}
"""Options whose value is that of one key."""

EXAMPLE = Path(sys.prefix) / "share" / "tenk-gateway" / "gateway.toml"
"""Commented example configuration, installed with the wheel."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret value that the setup asks for."""

    option: str  # of the command line
    variable: str
    key: KeyPath
    words: str  # in a question
    where: str  # how to get the value


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
                "Token",
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
                "Token",
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
                "Bot User OAuth Token",
                "api.slack.com/apps: Create New App, From an app manifest (`tenk slack-manifest` prints it), Install "
                "App, and copy the Bot User OAuth Token (xoxb-)",
            ),
            Secret(
                "slack_app_token",
                "SLACK_APP_TOKEN",
                (*SLACK_MAIN, "app_token"),
                "App-level token",
                "There on Basic Information: App-Level Tokens, with connections:write (xapp-)",
            ),
        ),
    ),
)


@dataclass(slots=True)
class Answers:
    """Configuration values given so far."""

    values: dict[KeyPath, Any] = field(default_factory=dict)

    def set_platform(self, platform: Platform, tokens: Sequence[str], environ: Mapping[str, str]) -> None:
        """Set the platform's tokens, and its API base URL if the environment sets one."""
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
@click.option("--name", metavar="NAME", help="Name of the bot on its web page.")
@click.option("--language", type=click.Choice(list(NAMES)), help="Language of new people.")
@click.option("--timezone", metavar="ZONE", help="Time zone of new people: Europe/Madrid, or a city.")
@click.option("--model", metavar="NAME", envvar="TENK_MODEL", help="Model: openai:NAME, anthropic:NAME or offline.")
@click.option(
    "--model-key", metavar="KEY", help="API key of the model's provider; default: OPENAI_API_KEY or ANTHROPIC_API_KEY."
)
@click.option("--model-url", metavar="URL", help="Base URL of the model's API, for your own server.")
@click.option(
    "--public-url", metavar="URL", envvar="TENK_PUBLIC_URL", help="Public address of this gateway (https://...)."
)
@click.option("--replace", is_flag=True, help="Replace existing values without asking.")
@click.option("--check/--no-check", "tries", default=True, help="Check each token before writing it.")
@config_option
def command(replace: bool, tries: bool, config_path: Path | None, **options: str | None) -> None:
    """Set up a bot and write its configuration.

    Asks for whatever no option gives; without a terminal it leaves that out. Tokens can also come from environment
    variables such as TELEGRAM_BOT_TOKEN, which other users cannot see in the process list.
    """
    os.umask(0o077)
    telemetry.configure(Redactor(), level="critical")  # findings are printed
    answers = Answers({key: said.strip() for name, key in OPTIONS.items() if (said := options[name])})
    if zone := find_zone(answers.values.get(TIMEZONE, "")):
        answers.values[TIMEZONE] = zone
    asks_model = any(key[0] == "model" for key in answers.values)
    wire = answers.values.get(("model", "name"), "").partition(":")[0]
    if wire in MODEL_KEYS and not options["model_key"] and not options["model_url"]:
        for key, variable in zip((MODEL_KEY, MODEL_URL), MODEL_KEYS[wire], strict=True):
            if said := os.environ.get(variable, "").strip():
                answers.values[key] = said
    if options["model_key"] and not (options["model"] or options["model_url"]):
        raise click.UsageError("--model-key needs a model: add --model openai:NAME or --model anthropic:NAME")
    for platform in PLATFORMS:
        found = [options[secret.option] or "" for secret in platform.secrets]
        if any(found):
            answers.set_platform(platform, found, os.environ)
    talk = _Talk(config_path, tries)
    try:
        if not answers.values and sys.stdin.isatty():
            talk.ask_everything(answers)
        elif problems := talk.problems(
            answers.values, [platform.name for platform in PLATFORMS], asks_model=asks_model
        ):
            raise GatewayError("\n".join([*problems, "Nothing was written."]))
        _write(talk.draft(answers.values), replace=replace)
    except click.Abort:
        click.echo("\nNothing was written.", err=True)
        sys.exit(1)


class _Talk:
    """The dialogue at the terminal, which checks each answer with its platform."""

    def __init__(self, config_path: Path | None, tries: bool) -> None:
        self._path = config_path
        self._tries = tries

    def draft(self, values: Mapping[KeyPath, Any]) -> Draft:
        """Return the configuration with these values. Ignore the environment, which may differ at the next start."""
        kept = {name: value for name, value in os.environ.items() if name in ("TENK_HOME", "DATABASE_URL")}
        beginning = EXAMPLE.read_text(encoding="utf-8") if EXAMPLE.is_file() else ""
        return draft(self._path, kept, values, beginning, is_new=True)

    def problems(self, values: Mapping[KeyPath, Any], platforms: Sequence[str], *, asks_model: bool) -> list[str]:
        """Return the reasons why these values cannot be used. Print other findings."""
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
        """Ask for each platform, the model and the public address until each is valid or skipped."""
        click.echo(
            "Press return to take what stands in brackets, or to skip a question. Nothing is written until the end.\n"
        )
        self._ask_about_the_bot(answers)
        for platform in PLATFORMS:
            self._ask_platform(platform, answers)
        self._ask_model(answers)
        if any(key[0] == "channels" and key != NAME for key in answers.values):
            self._ask_public_url(answers)

    def _ask_about_the_bot(self, answers: Answers) -> None:
        own = self.draft({}).settings
        click.echo("The bot")
        if name := _ask(f"  Its name on the web page [{own.channels.web.title or 'TenK Coach'}]"):
            answers.values[NAME] = name
        spoken = " or ".join(f"{code} ({language})" for code, language in NAMES.items())
        asked = f"  Language of new people: {spoken} [{own.gateway.language or 'en'}]"
        while (language := _ask(asked).lower()) and language not in NAMES:
            click.echo(f"  Write {' or '.join(NAMES)}.")
        if language:
            answers.values[LANGUAGE] = language
        here = own.gateway.timezone or zone_of_machine()
        while (
            zone := find_zone(wanted := _ask(f"  Their time zone or city, such as Madrid [{here}]") or here)
        ) is None:
            near = near_zones(wanted)
            click.echo(f"  There is no zone {wanted}." + (f" Did you mean {', '.join(near)}?" if near else ""))
        if zone not in {own.gateway.timezone or "UTC", "Etc/UTC"}:
            answers.values[TIMEZONE] = zone

    def _ask_platform(self, platform: Platform, answers: Answers) -> None:
        click.echo(f"{platform.title}")
        while True:
            tokens: list[str] = []
            for secret in platform.secrets:
                click.echo(f"  {secret.where}.")
                tokens.append(_ask(f"  {secret.words} (not shown)", hidden=True))
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
        click.echo(
            "Model\n  Without one, the coach works offline and answers by rules. Otherwise write openai:gpt-5-mini,\n"
            "  anthropic:claude-haiku-5-5, or openai:NAME for a model on a server of your own."
        )
        while True:
            name = _ask("  Model")
            if not name or name == "offline":
                return
            url = _ask("  URL of your own server, such as http://127.0.0.1:11434/v1; return for the provider's")
            key = _ask("  API key (not shown)", hidden=True)
            given = {("model", "name"): name, ("model", "base_url"): url, ("model", "api_key"): key}
            values = answers.values | {path: value for path, value in given.items() if value}
            if self._takes(answers, values, asks_model=True):
                return

    def _ask_public_url(self, answers: Answers) -> None:
        click.echo(
            "Public address\n  Links that the bot sends (console, invitations) open on other machines only if it has a "
            "public address,\n  such as https://bot.example.com. docs/install.md shows how to set one up."
        )
        while url := _ask("  Its URL"):
            if self._takes(answers, answers.values | {("http", "public_url"): url}, asks_model=False):
                return

    def _takes(self, answers: Answers, values: dict[KeyPath, Any], *, asks_model: bool) -> bool:
        """Store these values as the answers and return True if they are valid; else print why not."""
        problems = self.problems(values, [], asks_model=asks_model)
        if not problems:
            answers.values = values
        click.echo("\n".join(f"  {problem}" for problem in problems), nl=bool(problems))
        return not problems


def _ask(what: str, *, hidden: bool = False) -> str:
    answer: str = click.prompt(what, default="", show_default=False, hide_input=hidden)
    return answer.strip()


async def _try_out(settings: Settings, platforms: Collection[str], asks_model: bool) -> list[str]:
    """Check the tokens and the model. Print the findings and return the refusals."""
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
    """Return True if the platform rejected the token or did not answer. Other findings can wait."""
    return bool(finding.to_do) and (bool(finding.key) or finding is found[0])


def _words(finding: Finding) -> str:
    key = f" ({'.'.join(finding.key)})" if finding.key else ""
    return f"{finding.part}: {finding.words}{key}; {finding.to_do}"


def _tell(found: Sequence[Finding]) -> None:
    for finding in found:
        click.echo(f"  {'TO DO' if finding.to_do else 'ok'}  {_words(finding) if finding.to_do else finding.words}")


def _write(made: Draft, *, replace: bool) -> None:
    """Write the configuration. Ask before replacing a value, or fail if there is no terminal."""
    for key in () if replace else made.replaced_keys():
        what = f"{made.before.place_of(key)}: {'.'.join(key)} is set already"
        if not sys.stdin.isatty():
            raise GatewayError(f"{what}. Nothing was written. Add --replace to replace it.")
        click.confirm(f"{what}. Replace it?", abort=True)
    check_home(made.settings.home)
    if (disk := check_disk(made.settings.home)).to_do:
        raise GatewayError(f"{disk.words}; {disk.to_do}. Nothing was written.")
    for path in made.write():
        click.echo(f"Wrote {path}.")
    runs = (made.settings.home / LOCK_NAME).exists() and bool(why_silent(made.settings.home))
    click.echo(f"\n{_next_steps(made.settings, runs=runs)}")


def _next_steps(settings: Settings, *, runs: bool) -> str:
    """Return what to type next, and no more; a gateway that `runs` is reloaded."""
    tenk = of_process()
    lines = ["Next, type:", f"  {tenk.command('reload' if runs else 'run')}"]
    if runs:
        lines += ["The running gateway applies this, or says that it needs a restart."]
    if any(settings.channels.accounts()):
        lines += ["Then write to your bot. It answers with a code; type in another terminal:"]
        lines += [
            f"  {tenk.command('pairing', 'approve', 'CODE')}",
            "The first person approved is the owner, if there is none yet.",
        ]
    elif not runs:
        lines += ["Open the link that it prints: whoever opens it first is the owner."]
    return "\n".join([*lines, f"If something does not work, `{tenk.command('doctor')}` says why."])


def zone_of_machine() -> str:
    """Return the machine's IANA zone, UTC if it does not say."""
    linked = os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    return next((zone for name in (os.environ.get("TZ", ""), linked) if (zone := find_zone(name))), "UTC")
