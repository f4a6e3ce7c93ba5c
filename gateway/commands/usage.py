"""`/usage`: shows a person the tokens and the cost of their turns."""

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time
from functools import partial

from agent.calendar import today_of, week_of, zone_of
from agent.catalogue import Catalogue, language_of
from agent.ports import Principal
from gateway.commands.base import Command, HelpGroup, Invocation, Reply
from gateway.store.budgets import CapUse
from gateway.store.usage import UsageTotal, usage_since

PERIODS = ("today", "week", "month")
MICROUSD_PER_CENT = 10_000


Left = Callable[[Principal], Awaitable[CapUse | None]]
"""Function that returns a person's own cap and its use today, or None."""


async def no_cap(_principal: Principal) -> CapUse | None:
    """Return no cap."""
    return None


async def show_usage(left: Left, asked: Invocation) -> Reply:
    """Show the person's tokens and costs, and the rest of their cap."""
    who = asked.principal
    beginnings = _beginnings(who, today_of(who, asked.now))
    look = partial(usage_since, tenant=who.tenant, user_id=who.user_id, beginnings=beginnings)
    totals = await asked.store.read(look, lasting=True)
    rows = (
        asked.say(f"commands.usage_{period}", used=_in_words(total, asked.texts, who.locale))
        for period, total in zip(PERIODS, totals, strict=True)
    )
    text = asked.say("commands.usage", rows="\n".join(f"- {row}" for row in rows))
    if (use := await left(who)) is not None:
        text += "\n\n" + asked.say("commands.usage_left", left=_left_in_words(use, who.locale))
    return Reply(text)


def usage_command(left: Left = no_cap) -> Command:
    """Return the command `/usage`; `left` finds the person's cap."""
    return Command("usage", "menu.usage", partial(show_usage, left), group=HelpGroup.ACCOUNT)


def _beginnings(who: Principal, today: date) -> list[datetime]:
    """Return when the person's day, week and month began."""
    days = (today, week_of(today, who.week_start), today.replace(day=1))
    return [datetime.combine(day, time(), zone_of(who.timezone)).astimezone(UTC) for day in days]


def _in_words(total: UsageTotal, texts: Catalogue, locale: str | None) -> str:
    if not (total.input_tokens or total.output_tokens or total.cost_microusd):  # answers without a model use none
        return texts.text(locale, "commands.usage_nothing")
    tokens = texts.text(
        locale,
        "commands.usage_tokens",
        read=in_digits(f"{total.input_tokens:,}", locale),
        written=in_digits(f"{total.output_tokens:,}", locale),
    )
    return f"{tokens}, {cost_in_words(total, texts, locale)}"


def _left_in_words(use: CapUse, locale: str | None) -> str:
    """Return the rest of both limits."""
    limits, cap, used = [], use.cap, use.used
    if cap.most_microusd is not None:
        left = usd_text(max(0, cap.most_microusd - used.microusd))
        limits.append(in_digits(f"{left} / {usd_text(cap.most_microusd)} USD", locale))
    if cap.most_tokens is not None:
        limits.append(in_digits(f"{max(0, cap.most_tokens - used.tokens):,} / {cap.most_tokens:,} tokens", locale))
    return ", ".join(limits)


def cost_in_words(total: UsageTotal, texts: Catalogue, locale: str | None) -> str:
    """Return the cost, as far as it is known."""
    if total.cost_microusd is None or (total.unpriced and not total.cost_microusd):
        return texts.text(locale, "commands.usage_cost_unknown")
    usd = in_digits(usd_text(total.cost_microusd), locale)
    if total.unpriced:
        return texts.plural(locale, "commands.usage_cost_partly", total.unpriced, usd=usd)
    return texts.text(locale, "commands.usage_cost", usd=usd)


def usd_text(cost_microusd: int) -> str:
    """Return dollars with two decimals, below a cent with four, and never zero for a positive cost."""
    if cost_microusd == 0 or cost_microusd >= MICROUSD_PER_CENT:
        return f"{cost_microusd / 1_000_000:,.2f}"
    return f"{max(cost_microusd, 100) / 1_000_000:.4f}"


def in_digits(number: str, locale: str | None) -> str:
    """Return an English number in the notation of the person's language."""
    return number.translate(str.maketrans(",.", ".,")) if language_of(locale) == "es" else number
