"""Probes of an account before a start: refused tokens, and what remains to be set."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from channels.chat.probing import Asker, Finding, NoAnswer
from channels.discord.config import DiscordAccount
from channels.discord.probe import probe as probe_discord
from channels.simulators.discord.server import TOKEN as DISCORD_TOKEN
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TOKEN, TelegramSimulator
from channels.slack.probe import probe as probe_slack
from channels.telegram.probe import probe as probe_telegram
from gateway.ops.home_check import check_clock
from tests.fakes.slack import account as slack_account
from tests.fakes.telegram import account as telegram_account


@pytest.fixture
async def asker() -> AsyncIterator[Asker]:
    async with Asker() as opened:
        yield opened


def to_do(found: list[Finding]) -> list[str]:
    return [f"{finding.words} -> {finding.to_do}" for finding in found if finding.to_do]


def discord_account(simulator: DiscordSimulator, **more: object) -> DiscordAccount:
    return DiscordAccount.model_validate({"token": DISCORD_TOKEN, "api_base": simulator.base_url} | more)


async def test_telegram_says_whose_token_it_is_and_refuses_another(asker: Asker) -> None:
    async with TelegramSimulator(throttled=False) as simulator:
        simulator.add_bot(TOKEN)
        well = await probe_telegram(telegram_account(simulator), asker)
        (wrong,) = await probe_telegram(telegram_account(simulator, token="1:wrong"), asker)
    assert ("@tenk_bot" in well[0].words, []) == (True, to_do(well))
    assert ("channels", "telegram", "main", "token") == wrong.key
    assert ("401 Unauthorized" in wrong.words, "@BotFather" in wrong.to_do) == (True, True)
    assert "1:wrong" not in wrong.words + wrong.to_do


async def test_a_webhook_that_stands_in_the_way_is_told_and_removed(asker: Asker) -> None:
    async with TelegramSimulator(throttled=False) as simulator:
        simulator.add_bot(TOKEN)
        account = telegram_account(simulator)
        await asker.ask("POST", f"{simulator.base_url}/bot{TOKEN}/setWebhook", body={"url": "https://old.example/hook"})
        found = (await probe_telegram(account, asker))[-1]
        assert found.mend is not None
        assert "https://old.example/hook" in found.words
        assert "removed" in await found.mend()
        assert [] == to_do(await probe_telegram(account, asker))


async def test_discord_is_asked_for_token_and_intent(asker: Asker) -> None:
    async with DiscordSimulator() as simulator:
        bot = simulator.add_bot(DISCORD_TOKEN)
        well = await probe_discord(discord_account(simulator), asker)
        bot.message_content = False
        (off,) = to_do(await probe_discord(discord_account(simulator), asker))
        without = await probe_discord(discord_account(simulator, message_content=False), asker)
        simulator.world.bot().sessions.limit.shards = 4
        (few,) = to_do(await probe_discord(discord_account(simulator, message_content=False, shards=3), asker))
        many = await probe_discord(discord_account(simulator, message_content=False, shards="auto"), asker)
        (wrong,) = await probe_discord(discord_account(simulator, token="wrong"), asker)
    assert ([], []) == (to_do(well), to_do(without))
    assert "3 of the 4 shards that Discord recommends" in few
    assert "4 shards; 1000 sessions may be opened today" in [finding.words for finding in many]
    assert ("Message Content intent is off" in off, "page Bot" in off) == (True, True)
    assert ("refuses the token" in wrong.words, "Reset Token" in wrong.to_do) == (True, True)


async def test_slack_is_asked_for_both_tokens_and_every_scope(asker: Asker) -> None:
    async with SlackSimulator() as simulator:
        app = simulator.add_app()
        well = await probe_slack(slack_account(simulator), asker)
        app.scopes = app.scopes.replace("reactions:write,", "").replace(",reactions:write", "")
        (scope,) = to_do(await probe_slack(slack_account(simulator), asker))
        (bot,) = await probe_slack(slack_account(simulator, bot_token="xoxb-wrong"), asker)
        level = (await probe_slack(slack_account(simulator, app_token="xapp-wrong"), asker))[-1]
    assert [] == to_do(well)
    assert "reactions:write (without it no reactions)" in scope
    assert ("bot_token", "app_token") == (bot.key[-1], level.key[-1])
    assert ("xoxb-" in bot.to_do, "connections:write" in level.to_do) == (True, True)


async def test_an_unknown_or_wrong_person_is_reported(asker: Asker) -> None:
    async with SlackSimulator() as elsewhere:
        account: Any = telegram_account(elsewhere)
        (foreign,) = await probe_telegram(account, asker)
    (unreachable,) = await probe_telegram(account, asker)
    assert "something else answers there" in foreign.words
    assert ("cannot be reached" in unreachable.words, False) == (True, TOKEN in unreachable.words)


@pytest.mark.parametrize(("off_by_s", "words"), [(0, "within 30 s"), (400, "400 s ahead of"), (-400, "400 s behind")])
async def test_the_clock_is_held_against_who_answers(off_by_s: int, words: str) -> None:
    async with TelegramSimulator(throttled=False) as simulator:
        simulator.add_bot(TOKEN)
        async with Asker(lambda: datetime.now(UTC) + timedelta(seconds=off_by_s)) as asker:
            await probe_telegram(telegram_account(simulator), asker)
    (skew_s,) = asker.skews_s.values()
    found = check_clock({"api": float(round(skew_s / 100) * 100)})
    assert (words in found.words, bool(off_by_s)) == (True, bool(found.to_do)), found


async def test_a_date_that_is_none_is_no_clock(asker: Asker) -> None:
    assert "no server answered" in check_clock(asker.skews_s).words
    with pytest.raises(NoAnswer, match="cannot be reached"):
        await asker.ask("GET", "http://127.0.0.1:1/")
    assert {} == asker.skews_s
