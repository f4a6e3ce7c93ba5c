"""Files for pages are kept in memory, within a bound that counts them too."""

from channels.messages import AttachmentKind, OutboundMedia
from channels.web.attached import AttachedFiles


def file(content: bytes) -> OutboundMedia:
    return OutboundMedia(AttachmentKind.DOCUMENT, "plan.txt", "text/plain", content)


def token_of(named: object) -> str:
    return str(named["url"]).partition("id=")[2]


def test_many_empty_files_are_not_kept_for_ever():
    """The oldest goes; what was sent last stays, whatever its size."""
    kept = AttachedFiles(most_bytes=10_000)
    first = token_of(kept.keep("c", "first", [file(b"")])[0])
    for number in range(1000):
        last = token_of(kept.keep("c", f"m{number}", [file(b"")])[0])
    assert b"" == getattr(kept.get("c", last), "content", None)
    assert kept.get("c", first) is None
    huge = token_of(kept.keep("c", "huge", [file(b"x" * 20_000)])[0])
    assert 20_000 == len(getattr(kept.get("c", huge), "content", b""))
