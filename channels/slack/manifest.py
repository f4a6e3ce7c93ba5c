"""The manifest of a Slack app, with every scope, event and slash command that this channel needs.

Slack's format: docs.slack.dev/reference/app-manifest. The limits are its own, as of 2026-11.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from channels.base import CommandOption, CommandSpec

MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS, MAX_COMMANDS = 35, 140, 50

SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:write",
    "users:read",
)

EVENTS = (
    "app_mention",
    "channel_left",
    "group_left",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
)


SLACKS_OWN = frozenset(
    (
        "active", "apps", "archive", "away", "call", "close", "collapse", "dm", "dnd", "expand", "feed", "feedback",
        "help", "huddle", "invite", "join", "kick", "leave", "me", "msg", "mute", "open", "part", "prefs", "remind",
        "remove", "rename", "search", "shortcuts", "shrug", "star", "status", "topic", "who",
    )
)  # fmt: skip
"""Slash commands that Slack reserves: an app cannot have them, so people type them behind the talk command."""


@dataclass(frozen=True, slots=True)
class AppDescription:
    """The app as people see it."""

    name: str
    description: str
    commands: Sequence[CommandSpec]


def build_manifest(app: AppDescription, request_url: str | None = None) -> dict[str, JsonValue]:
    """Return the manifest; with `request_url` Slack posts events there, without it events come by Socket Mode."""
    where: dict[str, JsonValue] = {} if request_url is None else {"request_url": request_url}
    to_us: dict[str, JsonValue] = {} if request_url is None else {"url": request_url}
    return {
        "display_information": {
            "name": app.name[:MAX_NAME_CHARS],
            "description": app.description[:MAX_DESCRIPTION_CHARS],
            "background_color": "#2d6a4f",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": app.name[:MAX_NAME_CHARS], "always_online": True},
            "slash_commands": [_slash_command(spec) | to_us for spec in reachable(app.commands)],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**where, "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **where},
            "org_deploy_enabled": False,
            "socket_mode_enabled": request_url is None,
            "token_rotation_enabled": False,
        },
    }


def declared_commands(manifest: Mapping[str, JsonValue]) -> list[str]:
    """Return the slash commands of a manifest ("/log"); none if it is malformed."""
    features = manifest.get("features")
    listed = features.get("slash_commands") if isinstance(features, dict) else None
    return [str(slash["command"]) for slash in listed if isinstance(slash, dict)] if isinstance(listed, list) else []


def reachable(commands: Sequence[CommandSpec]) -> Sequence[CommandSpec]:
    """Return the commands that Slack allows an app to have."""
    return [spec for spec in commands if spec.name not in SLACKS_OWN][:MAX_COMMANDS]


def _slash_command(spec: CommandSpec) -> dict[str, JsonValue]:
    hint = " ".join(map(_hint, spec.options))
    return {"command": f"/{spec.name}", "description": spec.summary, **({"usage_hint": hint} if hint else {})}


def _hint(option: CommandOption) -> str:
    words = "|".join(option.choices) or option.name
    return f"<{words}>" if option.required else f"[{words}]"
