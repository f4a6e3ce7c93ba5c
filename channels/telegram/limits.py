"""Telegram's limits as data.

Sources: core.telegram.org/bots/api#sendmessage (4096 characters after entities parsing; the server counts UTF-16
units), #sendphoto (10 MB, captions of 1024), #senddocument (50 MB), #getfile (20 MB), #sendmediagroup (10 files),
#rich-messages (500 blocks, 16 levels, 20 columns) and core.telegram.org/bots/faq#my-bot-is-hitting-limits (1 a second
in a chat, 20 a minute in a group, about 30 a second over all), all read 2026-09. The real limits on rates are not
published: `retry_after` of a 429 decides.
"""

from channels.base import Limits, TextUnit

MAX_CAPTION_UTF16 = 1024
MAX_ALBUM = 10  # files
MAX_PHOTO_BYTES = 10_000_000
MAX_UPLOAD_BYTES = 50_000_000
MAX_DOWNLOAD_BYTES = 20_000_000  # of the official server; a local one has no limit
RICH_BLOCKS = 500  # blocks, list items and table rows together
RICH_DEPTH = 16
RICH_COLUMNS = 20
DRAFT_LASTS_S = 30.0

HINTS = "Write Markdown: short paragraphs, lists, **bold**; a table only when it is under 40 characters wide."
RICH_HINTS = "Write Markdown; headings, lists and tables are shown as such."

TELEGRAM_LIMITS = Limits(
    max_text=4096,
    unit=TextUnit.UTF16,
    edit_interval_s=1.0,
    typing_every_s=4.5,  # a chat action shows for 5 s (bots/api#sendchataction)
    per_chat_per_s=1.0,
    per_group_per_min=20.0,
    group_prefix="-",
    overall_per_s=30.0,
    max_caption=MAX_CAPTION_UTF16,
    hints=HINTS,
)
