"""Kinds of sound files by their first bytes; no name or label is believed. Pure.

Sources: RFC 3533 (Ogg), RFC 9559 (Matroska), RFC 4867 (AMR), ISO 14496-12 (MP4), ISO 13818-7 (ADTS), read 2026-11.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SoundKind:
    """The kind of a sound file."""

    mime: str
    suffix: str  # with the dot; servers go by it


OGG = SoundKind("audio/ogg", ".ogg")
MP3 = SoundKind("audio/mpeg", ".mp3")
AAC = SoundKind("audio/aac", ".aac")
M4A = SoundKind("audio/mp4", ".m4a")
WAV = SoundKind("audio/wav", ".wav")
FLAC = SoundKind("audio/flac", ".flac")
WEBM = SoundKind("audio/webm", ".webm")
AMR = SoundKind("audio/amr", ".amr")

_HEADS = {b"OggS": OGG, b"ID3": MP3, b"fLaC": FLAC, b"\x1a\x45\xdf\xa3": WEBM, b"#!AMR": AMR}


def sound_kind(content: bytes) -> SoundKind | None:
    """Return the kind of a file that holds sound; None if it holds none that servers read."""
    for head, kind in _HEADS.items():
        if content.startswith(head):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return WAV
    if content[4:8] == b"ftyp":
        return M4A
    if content[:1] == b"\xff" and len(content) > 4 and content[1] & 0xE0 == 0xE0:
        return MP3 if content[1] & 0x06 else AAC  # ADTS has layer 0
    return None
