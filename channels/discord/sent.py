"""Whether a message in a channel's history is an earlier attempt at a part; pure.

Discord does not keep nonces (discord.py issue 2451), so it goes by what is said. Taking another message for this one
would lose an answer, so an answer to the same message counts, and a text so long that it is not said twice; anything
else counts as not found, and is said again under its key.
"""

from pydantic import JsonValue

from channels.messages import OutboundPart

LONG_CHARS = 120


def same_message(message: dict[str, JsonValue], part: OutboundPart, us: str) -> bool:
    """Whether this is plainly the part, said by us."""
    author = message.get("author")
    if not isinstance(author, dict) or author.get("id") != us or not isinstance(message.get("id"), str):
        return False
    if message.get("nonce") == part.idem_key and part.idem_key:
        return True
    text = part.rendered.text.strip()
    if str(message.get("content") or "").strip() != text or len(part.media) != _count(message.get("attachments")):
        return False
    if part.reply_to is not None:
        reference = message.get("message_reference")
        return isinstance(reference, dict) and reference.get("message_id") == part.reply_to
    return len(text) >= LONG_CHARS


def _count(attachments: JsonValue) -> int:
    return len(attachments) if isinstance(attachments, list) else 0
