"""People's actions on all simulated platforms: the same side of each."""

import pytest

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator


@pytest.fixture(
    params=[TelegramSimulator.with_bot, DiscordSimulator.with_bot, SlackSimulator.with_bot],
    ids=["telegram", "discord", "slack"],
)
async def side(request: pytest.FixtureRequest) -> AnySimulator:
    return request.param()


async def test_what_a_person_writes_is_shown_to_them(side: AnySimulator):
    for chat in (side.direct(7), side.room(5_001)):
        message_id = side.say(chat, "hello", person=7)
        (shown,) = side.messages(chat, 7)
        assert (message_id, chat, False, "hello") == (shown.message_id, shown.chat_id, shown.by_bot, shown.text)
        assert ("", [], [], ()) == (shown.reaction, shown.buttons, shown.files, shown.pings)
        assert (0, []) == (side.typing(chat), side.answers(chat))
    assert {side.direct(7), side.room(5_001)} == set(side.chats())


async def test_what_a_person_changes_is_shown_as_it_reads_now(side: AnySimulator):
    chat = side.direct(7)
    changed, taken_back = side.say(chat, "helo"), side.say(chat, "oops")
    side.edit(chat, changed, "hello")
    side.delete(chat, taken_back)
    assert [(changed, "hello")] == [(shown.message_id, shown.text) for shown in side.messages(chat)]


async def test_a_command_waits_until_it_is_taken(side: AnySimulator):
    taken = side.command(side.direct(7), "log", "45m guitar")
    telegram = side.name == "telegram"
    assert telegram == taken.acked
    assert (["/log 45m guitar"] if telegram else []) == [shown.text for shown in side.messages(side.direct(7))]


async def test_nothing_is_there_before_a_bot_comes(side: AnySimulator):
    async with side:
        side.say(side.direct(7), "hello")
        assert (False, 0, 0) == (side.is_connected(), side.arrivals(), len(side.history(side.direct(7))))
        assert [] == side.bot_messages(0)
        with pytest.raises(TimeoutError):
            await side.until(lambda: side.newest_seq > 0, 0.01)


async def test_what_waits_for_the_gateway_is_kept_or_forgotten(side: AnySimulator):
    side.say(side.direct(7), "hello")
    waited = side.count_unacknowledged()
    side.forget()
    assert {"telegram": (1, 1), "discord": (0, 0), "slack": (1, 0)}[side.name] == (waited, side.count_unacknowledged())


async def test_its_environment_leads_to_the_simulator(side: AnySimulator):
    async with side:
        told = side.environment()
    assert all(key.startswith(f"{side.name.upper()}_") for key in told)
    assert f"{side.name.upper()}_BOT_TOKEN" in told
    assert told[f"{side.name.upper()}_API_BASE"].startswith("http://127.0.0.1:")


def test_the_bot_is_named_as_each_platform_does():
    sides = (TelegramSimulator.with_bot(), SlackSimulator.with_bot(), DiscordSimulator.with_bot())
    assert ["@tenk_bot", "<@U0TENK>", "<@900000>"] == [side.mention for side in sides]


async def test_an_answer_in_a_thread_says_so():
    slack = SlackSimulator.with_bot()
    first = slack.say("C7", "one", person=3)
    slack.say("C7", "two", person=3, under=first)
    assert [None, first] == [shown.thread for shown in slack.messages("C7")]


async def test_slack_takes_no_command_that_its_app_did_not_declare():
    declared, any_ = SlackSimulator.with_bot(commands=["/log"]), SlackSimulator.with_bot()
    with pytest.raises(LookupError, match="/mode is not a valid command"):
        declared.command("D1", "mode")
    declared.command("D1", "log", "45m guitar")
    any_.command("D1", "mode")
    assert [1, 1] == [side.count_unacknowledged() for side in (declared, any_)]
