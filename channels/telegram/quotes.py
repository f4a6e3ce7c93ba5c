"""What stands in a Telegram message and was said before: forwarded words, and what is replied to. Pure.

Source: core.telegram.org/bots/api (10.0): MessageOrigin, TextQuote, ExternalReplyInfo. Never fails: somebody else's
words do not make a person's own message unreadable.
"""

from pydantic import ValidationError

from channels.messages import Quoted, QuoteKind, quoted
from channels.telegram.raw import RawMessage, RawOrigin, RawReplied


def is_forwarded(raw: RawMessage) -> bool:
    """Whether the words are somebody else's, in any way Telegram or an older server says so."""
    signs = (raw.forward_origin, raw.forward_date, raw.forward_from, raw.forward_from_chat, raw.forward_sender_name)
    return any(sign is not None for sign in signs)


def forwarded_from(raw: RawMessage) -> str | None:
    """Who said what is passed on; None where Telegram does not tell."""
    try:
        origin = RawOrigin.model_validate(raw.forward_origin)
    except ValidationError:
        origin = RawOrigin()
    old = RawOrigin(
        sender_user=raw.forward_from, sender_chat=raw.forward_from_chat, sender_user_name=raw.forward_sender_name
    )
    return _clean(origin.author or old.author)


def replied_to(raw: RawMessage, replied: RawReplied | None, bot_id: int) -> tuple[Quoted, ...]:
    """What the message answers: the part that was quoted, else the whole; also from another chat."""
    part = raw.quote.text if raw.quote is not None else None
    if replied is not None:
        ours = replied.from_ is not None and replied.from_.id == bot_id
        text = part or replied.text or replied.caption
        return quoted(QuoteKind.REPLY, _clean(text), _clean(_author(replied)), ours=ours)
    if raw.external_reply is not None:
        origin = raw.external_reply.origin
        return quoted(QuoteKind.REPLY, _clean(part), _clean(origin.author if origin is not None else None))
    return ()


def _author(replied: RawReplied) -> str | None:
    if replied.forward_origin is not None and replied.forward_origin.author:
        return replied.forward_origin.author
    if replied.sender_chat is not None and replied.sender_chat.name:
        return replied.sender_chat.name
    if replied.from_ is None:
        return None
    return f"{replied.from_.first_name} {replied.from_.last_name or ''}".strip() or replied.from_.username


def _clean(text: str | None) -> str | None:
    return text.replace("\x00", "") if text else None
