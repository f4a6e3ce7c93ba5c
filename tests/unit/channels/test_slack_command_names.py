"""Command names in texts for Slack: as people type them there."""

import re
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.base import CommandOption, CommandSpec
from channels.markdown.parse import parse
from channels.slack.command_names import CommandNames
from channels.slack.manifest import reachable
from channels.slack.render import MARKDOWN, MRKDWN, SlackRenderer
from gateway.coach.product import COACH
from gateway.command_set import describe_slack_app, list_commands
from tests.fakes.amounts import share

WORDS, CHOICES = CommandOption("name", "x"), CommandOption("which", "x", choices=("on", "off"))
NAMES = CommandNames(
    "coach",
    ("log", "plan"),
    [
        CommandSpec("help", ""),
        CommandSpec("name", "", (WORDS,)),
        CommandSpec("mode", "", (CHOICES,)),
        CommandSpec("log", ""),
    ],
)
SLACK = SlackRenderer(MARKDOWN, NAMES)
PIECES = st.sampled_from(["/help", "/name", "/coach ", "/log", "/", "a", " ", "\n", ".", "(", "`", "*", "é"])
LOCALES = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Say /help.", "Say /coach help."),
        ("/help", "/coach help"),
        ("(/help, /name!)", "(/coach help, /coach /name!)"),
        ("“/help”: all", "“/coach help”: all"),
        ("`/mode off` or `/name Ana`", "`/coach mode off` or `/coach /name Ana`"),
        ("**/help** and *see /name*", "**/coach help** and *see /coach /name*"),
        ("- /help: all\n- /log: it", "- /coach help: all\n- /log: it"),
        ("> said /help\n\n# To /help", "> said /coach help\n\n# To /coach help"),
        ("| /help |\n|---|\n| /name |", "```\n/coach help\n------------\n/coach /name\n```"),
        ("/coach help, /coach /name Ana, `/coach /name Ana`", "/coach help, /coach /name Ana, `/coach /name Ana`"),
    ],
)
def test_a_command_without_a_name_of_its_own_stands_behind_the_one_that_talks(said: str, read: str) -> None:
    assert read == SLACK.render(parse(said)).text
    assert read == SLACK.render(parse(read)).text


@pytest.mark.parametrize(
    "said",
    [
        "and/or, 1/help/2, 24/7, 03/04/2026",
        "https://x.y/help and x.y/help?a=/help",
        "[/help](https://x.y/help)",
        "/help/me, /help.html, /helpful, ./help, ~/help, /Help",
        "`rm /help` `and/help` `/helpful`",
        "/log 45m, /unknown, /",
        "```\n/help\n```",
        "un**/help**ful",
    ],
)
def test_what_is_no_command_stays_as_it_is(said: str) -> None:
    assert SlackRenderer().render(parse(said)).text == SLACK.render(parse(said)).text


@settings(max_examples=share(200), deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_nothing_is_lost_and_what_was_named_once_is_not_named_again(said: str) -> None:
    named = NAMES.in_text(said)
    assert named == NAMES.in_text(named)
    bare = re.compile(r"/coach\s+/?")
    assert bare.sub("/", named) == bare.sub("/", said)


def test_all_that_we_say_names_what_can_be_typed() -> None:
    table = list_commands(COACH)
    own = {spec.name for spec in reachable(describe_slack_app(COACH).commands)}
    names = CommandNames(table.talk, own, table.specs())
    silent = "|".join(sorted(table.names - own, key=len, reverse=True))
    unnamed = re.compile(rf"(?<!/coach )/({silent})\b")
    texts = [
        form
        for path in (*LOCALES.glob("gateway/locale/**/*.po"), *LOCALES.glob("agent/coach/locale/**/*.po"))
        for message in read_po(BytesIO(path.read_bytes()))
        for form in ([message.string] if isinstance(message.string, str) else message.string)
    ]
    for renderer in (SlackRenderer(MARKDOWN, names), SlackRenderer(MRKDWN, names)):
        said = [renderer.render(parse(text)).text for text in texts if "/" in text]
        assert [] == [text for text in said if unnamed.search(text)]
        assert len(said) > 100
