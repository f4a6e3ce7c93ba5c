"""Type and size of a picture, by its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sessions.pictures import ImageFacts, read_image
from tests.fakes.pictures import png

EXIF = b"\xff\xe1\x00\x0a" + b"Exif\0\0ab"
FRAME = b"\xff\xc2\x00\x11\x08\x02\x58\x03\x84\x03"
RIFF = b"RIFF\x00\x00\x00\x00WEBP"
SAMPLES = {
    "png": (png(900, 600), "image/png"),
    "gif": (b"GIF89a\x84\x03\x58\x02\x00", "image/gif"),
    "jpeg": (b"\xff\xd8" + EXIF + b"\xff\xff\xff\xdb\x00\x03\x00" + FRAME, "image/jpeg"),
    "webp lossy": (RIFF + b"VP8 " + bytes(10) + b"\x84\x03\x58\x02", "image/webp"),
    "webp lossless": (RIFF + b"VP8L" + bytes(5) + (899 | 599 << 14).to_bytes(4, "little"), "image/webp"),
    "webp extended": (RIFF + b"VP8X" + bytes(8) + b"\x83\x03\x00\x57\x02\x00", "image/webp"),
}
OTHERS = [
    b"",
    b"%PDF-1.7",
    b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    b"GIF89a\0\0\0\0",
    b"\xff\xd8\xff\xd9",
    b"\xff\xd8" + b"\xff\xe1\x00\x00" * 5_000,
    b"\x89PNG\r\n\x1a\nnot much of a picture",
    RIFF + b"VP8X",
]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_picture_is_known_by_its_bytes(name: str):
    content, mime = SAMPLES[name]
    assert ImageFacts(mime, 900, 600) == read_image(content)
    assert read_image(content[:8]) is None


@pytest.mark.parametrize("content", OTHERS, ids=range(len(OTHERS)))
def test_anything_else_is_none(content: bytes):
    """Cover A76."""
    assert read_image(content) is None


@given(st.sampled_from([content for content, _ in SAMPLES.values()]), st.integers(0, 40), st.binary(max_size=40))
def test_a_broken_one_breaks_nothing(content: bytes, place: int, junk: bytes):
    facts = read_image(content[:place] + junk + content[place:])
    assert facts is None or min(facts.width, facts.height) > 0
