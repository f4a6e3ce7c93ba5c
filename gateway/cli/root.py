"""The command table: names and summaries only, so that `--help` imports click and nothing else."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

COMMANDS = {
    "init": ("gateway.cli.init", "Set up a bot: check its tokens and write the configuration."),
    "run": ("gateway.cli.run", "Run the gateway."),
    "chat": ("gateway.cli.chat", "Talk to the bot in this terminal."),
    "acp": ("gateway.cli.acp", "Serve the agent to an editor that speaks the Agent Client Protocol."),
    "demo": ("gateway.cli.demo", "Play a short demonstration on simulated platforms."),
    "playground": ("gateway.cli.demo:playground", "Try simulated Telegram, Discord and Slack on one web page."),
    "sim": ("gateway.cli.demo:sim", "Run a simulated platform."),
    "reload": ("gateway.cli.reload", "Make the running gateway reload its configuration."),
    "stop": ("gateway.cli.stop", "Stop the running gateway."),
    "pause": ("gateway.cli.pauses:pause", "Answer no message for a while; messages wait."),
    "resume": ("gateway.cli.pauses:resume", "Answer messages again, the waiting ones first."),
    "status": ("gateway.cli.status", "Show the status of the gateway."),
    "doctor": ("gateway.cli.doctor", "Check files, database, tokens and models, and say what to fix."),
    "trace": ("gateway.cli.messages:trace", "Show what happened to a person's messages, and why."),
    "replay": ("gateway.cli.replay", "Run a turn again with another model, prompt or agent; show what differs."),
    "logs": ("gateway.cli.logs", "Show the log, also of one turn or person; follow it."),
    "inbox": ("gateway.cli.messages:inbox", "List incoming messages and what happened to each."),
    "outbox": ("gateway.cli.messages:outbox", "List outgoing messages; resend or discard failed ones."),
    "pairing": ("gateway.cli.users:pairing", "List, approve, deny or block pairing requests."),
    "invite": ("gateway.cli.users:invite", "Create invitations: a code or link that lets in one person."),
    "console": ("gateway.cli.console", "Print a link that opens the console in a browser."),
    "users": ("gateway.cli.users", "List people; change roles, block, withdraw access, delete data."),
    "audit": ("gateway.cli.users:audit", "Show who changed what, newest first."),
    "sessions": ("gateway.cli.sessions", "List, show or export conversations."),
    "memory": ("gateway.cli.memory", "List, show, export or import what an agent remembers of a person."),
    "tasks": ("gateway.cli.tasks", "List the tasks that agents share on their boards."),
    "schedules": ("gateway.cli.schedules", "List, pause, resume or delete schedules and reminders."),
    "keys": ("gateway.cli.keys", "Create, list and revoke API keys; rotate the encryption key."),
    "agents": ("gateway.cli.agents", "List the agents of a tenant."),
    "skills": ("gateway.cli.skills", "List, add or trust skills: written procedures for the model."),
    "trust": ("gateway.cli.trust", "List what runs only if you trust it; trust it, or no longer."),
    "mcp": ("gateway.cli.mcp", "Add, list or test MCP servers; serve the agent's tools to editors."),
    "usage": ("gateway.cli.usage", "Show model calls, tokens and cost."),
    "new": ("gateway.cli.new", "Make a distribution with an agent, a tool, a hook or a channel of your own."),
    "hook": ("gateway.cli.hook", "Show what a hook would decide."),
    "eval": ("gateway.cli.evaluate", "Run cases against the agent and check its answers."),
    "models": ("gateway.cli.models", "List the models; try one now."),
    "config": ("gateway.cli.config", "Check, show or change the configuration."),
    "slack-manifest": ("gateway.cli.config:slack_manifest", "Print the manifest for creating the Slack app."),
    "db": ("gateway.cli.db", "Back up, restore, copy, upgrade, check or shrink the database."),
}
"""Name -> (module or module:attribute, summary). The attribute defaults to `command`."""


config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Configuration file. Default: config/gateway.toml, if it exists.",
)


def load(place: str) -> Any:
    """Import `module:name` and return it; without a name, return the module's `command`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name or "command")


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = load(COMMANDS[cmd_name][0])
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name][0]} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; if it is unknown, suggest similar names without importing any."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as unknown:
            raise click.exceptions.NoSuchCommand(unknown.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command from the table, without importing any, or an option of `tenk` itself."""
        commands = [
            CompletionItem(name, help=summary) for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the table's summaries, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _find_docs() -> Path:
    """Return the folder of the documentation: in the checkout, or where the wheel puts it."""
    checkout = Path(__file__).parents[2]
    is_one = (checkout / "pyproject.toml").is_file()
    return (checkout if is_one else Path(sys.prefix) / "share" / "tenk-gateway") / "docs"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A bot's settings are in config/ and its data in var/ of the current directory; run every command there, or "
    f"name others with --config after the command, and the variable TENK_HOME.\n\n\b\nDocumentation: {_find_docs()}\n"
    "To update TenK: the section Update of its install.md.",
)
@click.version_option(package_name="tenk-gateway", prog_name="tenk")
@click.option("--tenant", metavar="NAME", help="Show and change only this tenant. Default: all tenants.")
def root(tenant: str | None) -> None:
    """Run and operate a chat bot gateway that loses no message and sends none twice."""
