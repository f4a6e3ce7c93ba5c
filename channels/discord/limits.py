"""Discord's limits as data.

Sources: discord.com/developers/docs/resources/message#create-message (2,000 characters), /docs/topics/rate-limits
(buckets are told in headers and kept by the library; 50 requests a second over all), both read 2026-09. A message
sent again with its nonce within a few minutes is said once (`enforce_nonce`).
"""

from channels.base import Limits, TextUnit

MAX_MEDIA_BYTES = 10 * 1024 * 1024  # of a server without boosts (2026-09)

DISCORD_LIMITS = Limits(
    max_text=2000,
    unit=TextUnit.CHARS,
    edit_interval_s=1.2,  # five edits in five seconds a channel, and room for other calls
    typing_every_s=8.0,  # the indicator shows for 10 s
    per_chat_per_s=1.0,
    overall_per_s=40.0,
    hints="Discord: Markdown works, headings up to level 3; no tables (they are shown as code), keep them narrow.",
    idempotent_sends=True,
)
