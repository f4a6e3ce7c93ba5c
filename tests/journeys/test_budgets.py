"""A cap on model cost, as the person, the owner and the operator meet it; over the wire."""

from pathlib import Path

import pytest

from gateway.errors import SettingsError
from gateway.testing.model import Reply
from tests.journeys.house import CONFIG, House, house, said

CAPPED = """
[model.prices]
input_usd_per_mtok = 2
output_usd_per_mtok = 10
[budgets]
user_usd = {user_usd}
day_tokens = 1_000_000
"""


async def make_owner(here: House, chat: int) -> None:
    await here.operator(f"POST /v1/users/telegram:{chat}/role", {"role": "owner"})


async def test_over_their_cap_a_person_is_answered_by_rules_and_retry_later_asks_the_model(tmp_path: Path) -> None:
    async with house(tmp_path, config=CAPPED.format(user_usd=0.05)) as here:
        here.sim.say(2, "hello")
        await here.told(2, "A short answer.")
        await make_owner(here, 2)
        here.model.answers(Reply("Hello Ana.", usage=(12_345, 1_678)))
        here.sim.say(1, "hello")
        await here.told(1, "Hello Ana.")
        told = await here.told(2, "has used 8")
        assert "0.04 / 0.05 USD" in told.text
        here.sim.say(1, "/usage")
        await here.told(1, "Left for you today: 0.0085 / 0.05 USD")
        asked = len(here.model.requests)
        here.sim.say(1, "30 minutes of scales on guitar")
        told = await here.told(1, "What I may spend on you today is used up until 00:00, so I answer by rules.")
        assert "/retry" in told.text and "30" in told.text.partition("\n\n")[2]
        assert "Try again" not in dict(told.buttons)  # it could only fail again
        for words, count in (("how do I tune a cello?", 4), ("and how do I tune a viola?", 5)):
            here.sim.say(1, words)
            await here.until(lambda count=count: count == len(here.texts(1)), f"an answer by rules to {words}")
        here.sim.say(1, "/plan")
        await here.until(lambda: len(here.texts(1)) == 6, "a plan by rules")
        assert (asked, 1) == (len(here.model.requests), sum("used up" in text for text in here.texts(1)))
        here.sim.say(2, "and I?")
        await here.until(lambda: 2 == sum("A short answer." in text for text in here.texts(2)), "Bob's answer")
        standing = (await here.operator("GET /v1/status"))["budgets"]
        assert "0.04 / 0.05 USD" in [used for name, used in standing.items() if name.startswith("user ")]
        assert any(name.startswith("day ") and used.endswith("/ 1,000,000 tokens") for name, used in standing.items())
        here.sim.say(1, "how do I tune a banjo?")
        await here.until(lambda: len(here.texts(1)) == 7, "the last answer by rules")
        await here.settled()
        assert 1 == sum("has used 8" in text for text in here.texts(2))
    async with house(tmp_path, config=CAPPED.format(user_usd=9)) as here:
        here.model.answers(Reply("Scales, every day."))
        here.sim.say(1, "/retry")
        await here.told(1, "Scales, every day.")
        assert "banjo" in said(here.model.requests[-1].body)[-1]


async def test_a_cap_counts_what_was_used_before_it_and_owners_hear_that_it_is_used_up(tmp_path: Path) -> None:
    priced, _, _ = CAPPED.partition("[budgets]")

    async def cap(budgets: str) -> set[tuple[str, str]]:
        (tmp_path / "gateway.toml").write_text(CONFIG + priced + budgets)
        await here.operator("POST /v1/reload")
        return {(name.split()[0], used) for name, used in (await here.operator("GET /v1/status"))["budgets"].items()}

    async with house(tmp_path, config=priced) as here:
        here.sim.say(2, "hello")
        await here.told(2, "A short answer.")
        await make_owner(here, 2)
        here.model.answers(Reply("Hello Ana.", usage=(12_345, 1_678)))
        here.sim.say(1, "hello")
        await here.told(1, "Hello Ana.")
        caps = "[budgets]\nuser_usd = 9\nchannel_tokens = 90_000\nday_usd = {day}\n"
        used = await cap(caps.format(day=0.05))
        assert {("day", "0.04 / 0.05 USD"), ("user", "0.04 / 9.00 USD"), ("channel", "14,133 / 90,000 tokens")} < used
        asked = len(here.model.requests)
        here.sim.say(1, "and again")
        await here.told(1, "used up until 00:00")
        assert asked == len(here.model.requests)
        assert "budgets.day_usd" in (await here.operator("GET /v1/status"))["needs_you"]["budget day"]
        await here.told(2, "no model is asked until 00:00 UTC")
        await cap(caps.format(day=9))
        assert "needs_you" not in await here.operator("GET /v1/status")
        assert {("channel", "14,133 / 90,000 tokens")} == await cap("[budgets]\nchannel_tokens = 90_000\n")


async def test_another_zone_gives_no_second_cap(tmp_path: Path) -> None:
    async with house(tmp_path, config=CAPPED.format(user_usd=0.01)) as here:
        here.model.answers(Reply("Hello Ana.", usage=(1_000, 1_000)))
        here.sim.say(1, "/timezone UTC")
        await here.until(lambda: here.texts(1), "her zone taken")
        here.sim.say(1, "hello")
        await here.told(1, "Hello Ana.")
        asked = len(here.model.requests)
        for count, zone in enumerate(("Pacific/Kiritimati", "Pacific/Pago_Pago"), 1):
            here.sim.say(1, f"/timezone {zone}")
            await here.told(1, zone)
            here.sim.say(1, "and again")
            await here.until(lambda count=count: count == sum("used up" in text for text in here.texts(1)), zone)
            here.sim.say(1, "/usage")
            await here.until(
                lambda count=count: count == sum("0.00 / 0.01 USD" in text for text in here.texts(1)), zone
            )
        assert asked == len(here.model.requests)


UNLISTED = """
[model]
local = false
[budgets]
user_usd = {user_usd}
"""


async def test_a_price_lost_by_an_upgrade_stops_no_gateway_and_the_cap_counts_tokens(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    with pytest.raises(BaseExceptionGroup) as refused:
        async with house(tmp_path, config=UNLISTED.format(user_usd=0.05)):
            raise AssertionError("it began")
    assert refused.group_contains(SettingsError, match=r"model: openai:journey has no price, .* set model\.prices")
    (tmp_path / "home" / "prices.json").write_text('{"openai:journey": "5"}')
    async with house(tmp_path, config=UNLISTED.format(user_usd=0.05)) as here:
        here.sim.say(2, "hello")
        await here.told(2, "A short answer.")
        await make_owner(here, 2)
        assert "5 USD per million" in (await here.operator("GET /v1/status"))["needs_you"]["price openai:journey"]
        here.model.answers(Reply("Hello Ana.", usage=(9_000, 1_000)))
        here.sim.say(1, "hello")
        await here.told(1, "Hello Ana.")
        here.sim.say(1, "and again")
        await here.told(1, "What I may spend on you today is used up until")
        assert "each token" in (await here.told(2, "openai:journey")).text
