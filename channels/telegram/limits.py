"""What Telegram takes, as data.

Sources: core.telegram.org/bots/api#sendmessage (4096 characters after entities parsing; the server counts UTF-16
units) and core.telegram.org/bots/faq#my-bot-is-hitting-limits (1 a second in a chat, 20 a minute in a group, about
30 a second over all), both read 2026-09. The real limits are not published: `retry_after` of a 429 decides.
"""

from channels.base import Limits, TextUnit

TELEGRAM_LIMITS = Limits(
    max_text=4096,
    unit=TextUnit.UTF16,
    edit_interval_s=1.0,
    typing_every_s=4.5,  # a chat action shows for 5 s (bots/api#sendchataction)
    per_chat_per_s=1.0,
    per_group_per_min=20.0,
    overall_per_s=30.0,
)
