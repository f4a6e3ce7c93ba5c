"""The demo sees all three platforms alike: what people write, what the bot answers, buttons, threads and pings."""

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from gateway.demo.windows import ClientWindow, DiscordWindow, SlackWindow, TelegramWindow


def windows() -> list[ClientWindow]:
    telegram, slack, discord = TelegramSimulator(), SlackSimulator(), DiscordSimulator()
    telegram.add_bot("1000001:not-a-real-token")
    slack.add_app()
    discord.add_bot("no.real.token")
    discord.add_channel(5001, 5000)
    return [
        TelegramWindow(telegram, 1001, "Ana"),
        SlackWindow(slack, "C7", "U3", "Cleo"),
        DiscordWindow(discord, 5001, 3001, "Dan"),
    ]


async def test_what_somebody_writes_is_shown_to_them() -> None:
    """With its id, as theirs, without reactions, buttons or pings."""
    for window in windows():
        message_id = window.say("hello")
        (shown,) = window.visible_messages()
        assert (message_id, False, "hello") == (shown.message_id, shown.by_bot, shown.text)
        assert ("", (), (), ()) == (shown.reaction, shown.buttons, shown.files, shown.pings)
        assert 0 == window.typing()


async def test_the_bot_is_named_where_others_are() -> None:
    """In channels; not where a person is alone with it."""
    telegram, slack, discord = windows()
    assert ("", "<@U0TENK>", "<@900000>") == (telegram.mention, slack.mention, discord.mention)


async def test_an_answer_in_a_thread_says_so() -> None:
    """Slack's threads hang under a message."""
    slack = windows()[1]
    first = slack.say("one")
    slack.say("two", under=first)
    assert [None, first] == [shown.thread for shown in slack.visible_messages()]
