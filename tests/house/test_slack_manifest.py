"""The Slack manifest of the README: it makes an app that the Slack channel can work with."""

import json
from typing import Any

from click.testing import CliRunner

from channels.slack.identity import NEEDED, WANTED
from channels.slack.manifest import MAX_COMMANDS, SLACKS_OWN
from gateway.cli.config import slack_manifest
from tests.house.tree import ROOT

MANIFEST: dict[str, Any] = json.loads((ROOT / "config" / "slack-manifest.json").read_text(encoding="utf-8"))
CONFIG = str(ROOT / "config" / "gateway.toml")
SCOPES = set(MANIFEST["oauth_config"]["scopes"]["bot"])
SETTINGS: dict[str, Any] = MANIFEST["settings"]

EVENTS = {
    "app_mention": {"app_mentions:read"},
    "channel_left": {"channels:read"},
    "group_left": {"groups:read"},
    "member_joined_channel": {"channels:read", "groups:read"},
    "message.channels": {"channels:history"},
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "message.mpim": {"mpim:history"},
}
"""Events that the channel understands, and the scopes Slack asks for to send them (docs.slack.dev/reference)."""

CATCHING_UP = {"channels:read", "groups:read", "im:read", "mpim:read"}
"""Scopes for users.conversations over all four kinds of chat (docs.slack.dev/reference/methods)."""


def test_the_app_may_do_what_the_channel_does() -> None:
    assert set() == {NEEDED, *WANTED, *CATCHING_UP} - SCOPES


def test_the_app_hears_what_the_channel_understands() -> None:
    assert set(EVENTS) == set(SETTINGS["event_subscriptions"]["bot_events"])
    assert set() == set().union(*EVENTS.values()) - SCOPES


def test_the_slash_commands_are_ours() -> None:
    offered = {command["command"].removeprefix("/") for command in MANIFEST["features"]["slash_commands"]}
    assert {"coach", "plan", "log", "stats", "stop", "new", "retry", "btw", "mode", "sessions", "link"} <= offered
    assert set() == offered & SLACKS_OWN
    assert len(offered) <= MAX_COMMANDS


def test_the_file_that_people_paste_is_what_the_command_prints() -> None:
    printed = CliRunner().invoke(slack_manifest, ["--config", CONFIG])
    assert 0 == printed.exit_code
    same = json.loads(printed.output) == MANIFEST
    assert same, "run `make generated`"


def test_by_http_everything_goes_to_one_address() -> None:
    url = "https://bot.example/webhooks/slack/main/events"
    made = json.loads(CliRunner().invoke(slack_manifest, ["--config", CONFIG, "--url", url]).output)
    places = [made["settings"]["event_subscriptions"]["request_url"], made["settings"]["interactivity"]["request_url"]]
    assert {url} == {*places, *(made_command["url"] for made_command in made["features"]["slash_commands"])}
    assert made["settings"]["socket_mode_enabled"] is False


def test_people_can_write_to_the_app_and_press_its_buttons() -> None:
    home = MANIFEST["features"]["app_home"]
    assert (True, False) == (home["messages_tab_enabled"], home["messages_tab_read_only_enabled"])
    assert (True, True) == (SETTINGS["interactivity"]["is_enabled"], SETTINGS["socket_mode_enabled"])
