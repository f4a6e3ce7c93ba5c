"""The command table: names and summaries only, so that `--help` imports click and nothing else."""

from importlib import import_module
from pathlib import Path
from typing import Any

import click

COMMANDS = {
    "init": ("gateway.cli.init", "Set up a bot: try its tokens, write the configuration."),
    "run": ("gateway.cli.run", "Run the gateway."),
    "chat": ("gateway.cli.chat", "Talk to the bot in this terminal."),
    "demo": ("gateway.cli.demo", "Play a short story against simulated platforms."),
    "playground": ("gateway.cli.demo:playground", "Try all three platforms, simulated, on one page."),
    "sim": ("gateway.cli.demo:sim", "Run a simulated platform."),
    "reload": ("gateway.cli.reload", "Have the running gateway read its configuration again."),
    "status": ("gateway.cli.status", "Show how a running gateway is doing."),
    "doctor": ("gateway.cli.doctor", "Check what the gateway stands on, and say what to do."),
    "trace": ("gateway.cli.messages:trace", "Show what became of somebody's messages, and why."),
    "inbox": ("gateway.cli.messages:inbox", "Show what came in, and what became of it."),
    "outbox": ("gateway.cli.messages:outbox", "Show what goes out; say again or give up what failed."),
    "pairing": ("gateway.cli.users:pairing", "List, approve, deny or block pairing requests."),
    "invite": ("gateway.cli.users:invite", "Make links and codes that let one person in at once."),
    "console": ("gateway.cli.console", "Print a link that opens the console in a browser."),
    "users": ("gateway.cli.users", "Show who is let in, change roles, take access back."),
    "audit": ("gateway.cli.users:audit", "Show who changed what, newest first."),
    "sessions": ("gateway.cli.sessions", "List conversations, read one as a timeline, export one."),
    "keys": ("gateway.cli.keys", "Make, list and revoke keys of the HTTP API; rotate that of secrets."),
    "usage": ("gateway.cli.usage", "Show what the models were used for."),
    "config": ("gateway.cli.config", "Check, show or change the configuration."),
    "slack-manifest": ("gateway.cli.config:slack_manifest", "Print what makes a Slack app for this agent."),
    "db": ("gateway.cli.db", "Back up, restore, dump, load, upgrade or shrink the database."),
}
"""Name -> (module, summary); the module's `command` is the click command, unless another name stands behind a colon."""


config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="The configuration file; default: config/gateway.toml where that exists.",
)


def load(place: str) -> Any:
    """What has this name in its module, `module:name`, which is imported now; without a name its `command`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name or "command")


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, its module imported now; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = load(COMMANDS[cmd_name][0])
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name][0]} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these words; where there is none, the nearest are named from the table."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as unknown:
            raise click.exceptions.NoSuchCommand(unknown.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as help shows it, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tenk-gateway", prog_name="tenk")
@click.option("--tenant", metavar="NAME", help="Look at, and act on, this tenant's alone; without it everybody's.")
def root(tenant: str | None) -> None:
    """A multi-channel chat bot gateway that never loses a message and never says a thing twice."""
