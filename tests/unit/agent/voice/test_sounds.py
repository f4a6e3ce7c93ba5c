"""Kinds of sound files, by their bytes."""

import pytest

from agent.voice.sounds import AAC, AMR, FLAC, M4A, MP3, OGG, WAV, WEBM, SoundKind, sound_kind


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"OggS\x00\x02", OGG),
        (b"ID3\x04", MP3),
        (b"\xff\xfb\x90\x64\x00", MP3),
        (b"\xff\xf1\x50\x80\x00", AAC),
        (b"\x00\x00\x00\x20ftypM4A ", M4A),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", WAV),
        (b"fLaC\x00", FLAC),
        (b"\x1a\x45\xdf\xa3\x01", WEBM),
        (b"#!AMR\n", AMR),
        (b"", None),
        (b"\xff", None),
        (b"RIFF\x24\x00\x00\x00WEBP", None),
        (b"%PDF-1.7", None),
        (b"<html>", None),
    ],
)
def test_a_sound_is_known_by_its_bytes(content: bytes, kind: SoundKind | None):
    assert kind is sound_kind(content)
