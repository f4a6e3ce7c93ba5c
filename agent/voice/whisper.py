"""A process that transcribes one sound file from its standard input with faster-whisper, and prints JSON."""

import io
import json
import sys
from importlib import import_module


def main(model: str) -> None:
    """Print the text and the length of the sound on standard input; `model` is a name or a folder of faster-whisper."""
    whisper = import_module("faster_whisper")  # the extra: not in requirements.lock, and it takes seconds to import
    segments, info = whisper.WhisperModel(model).transcribe(io.BytesIO(sys.stdin.buffer.read()), vad_filter=True)
    text = "".join(segment.text for segment in segments).strip()
    sys.stdout.write(json.dumps({"text": text, "seconds": info.duration}))


if __name__ == "__main__":
    main(sys.argv[1])
