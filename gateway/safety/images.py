"""Tells a picture's type and size in pixels by its bytes. Pure; nothing is decoded, no name or label is believed.

Sources: w3.org/TR/png, gif89a, RFC 9649 (WebP), ITU T.81 (JPEG), read 2026-11.
"""

from dataclasses import dataclass

MAX_SEGMENTS = 2_000
"""Of a JPEG so many are walked over before its size is there; cameras write some dozens."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A picture's type and size."""

    mime: str
    width: int  # pixels, at least 1
    height: int


def read_image(content: bytes) -> ImageFacts | None:
    """The facts of a PNG, JPEG, GIF or WebP; None where it is none, or broken before its size."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return _facts("image/png", _big(content[16:20]), _big(content[20:24]))
    if content.startswith((b"GIF87a", b"GIF89a")):
        return _facts("image/gif", _little(content[6:8]), _little(content[8:10]))
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return _facts("image/webp", *_webp_size(content))
    if content.startswith(b"\xff\xd8\xff"):
        return _facts("image/jpeg", *_jpeg_size(content))
    return None


def _facts(mime: str, width: int, height: int) -> ImageFacts | None:
    return ImageFacts(mime, width, height) if width > 0 and height > 0 else None


def _big(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _little(octets: bytes) -> int:
    return int.from_bytes(octets, "little")


def _webp_size(content: bytes) -> tuple[int, int]:
    match content[12:16]:
        case b"VP8X" if len(content) >= 30:
            return _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case b"VP8L" if len(content) >= 25:
            bits = _little(content[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
        case _:
            return 0, 0


def _jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(MAX_SEGMENTS):
        marker, length = content[at : at + 2], _big(content[at + 2 : at + 4])
        if len(marker) < 2 or marker[0] != 0xFF:
            break
        if marker[1] == 0xFF:  # filling
            at += 1
            continue
        if 0xC0 <= marker[1] <= 0xCF and marker[1] not in {0xC4, 0xC8, 0xCC}:  # the start of a frame
            return _big(content[at + 7 : at + 9]), _big(content[at + 5 : at + 7])
        at += 2 + max(2, length)
    return 0, 0
