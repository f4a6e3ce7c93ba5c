"""Slack's limits as data.

Sources (docs.slack.dev, read 2026-11): chat.postMessage (`text` is cut at 40,000 characters, 4,000 are recommended,
about one message a second in a channel), markdown block (12,000 characters over all of a payload), section block
(3,000), chat.update (tier 3: 50 calls a minute).
"""

from channels.base import Limits, TextUnit

MAX_TEXT = 40_000  # top-level `text`
MAX_UPDATED_TEXT = 4_000  # top-level `text` of chat.update
MAX_MARKDOWN = 12_000  # all markdown blocks of a payload
MAX_SECTION = 3_000  # one section's text
MAX_BLOCKS = 50
MAX_FILE_BYTES = 50_000_000  # ours; Slack itself takes 1 GB

SLACK_LIMITS = Limits(
    max_text=MAX_MARKDOWN - 100,  # a live answer's ellipsis and a mended fence come on top
    unit=TextUnit.CHARS,
    edit_interval_s=1.5,
    edits_per_min=50.0,
    typing_every_s=60.0,  # a status shows for two minutes (assistant.threads.setStatus)
    per_chat_per_s=1.0,
    hints="Standard Markdown. Keep tables narrow (at most three columns); images are shown as links.",
    idempotent_sends=True,
)

MRKDWN_LIMITS = Limits(
    max_text=MAX_SECTION - 100,
    unit=TextUnit.CHARS,
    edit_interval_s=1.5,
    edits_per_min=50.0,
    typing_every_s=60.0,
    per_chat_per_s=1.0,
    hints="Short paragraphs, lists and bold text; no tables, no images.",
    idempotent_sends=True,
)
