"""Settings of voice messages and spoken answers."""

from decimal import Decimal
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from agent.plain_errors import check_url

Url = Annotated[str, AfterValidator(check_url)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Price = Annotated[Decimal, Field(ge=0, le=1_000)]


class VoiceConfig(BaseModel):
    """Transcription of voice messages, and answers by voice."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    transcription_url: Url | None = None
    """Server with OpenAI's `/audio/transcriptions`, such as https://api.openai.com/v1; None: no server transcribes."""
    transcription_model: Name = "whisper-1"
    """Model that the server transcribes with."""
    transcription_key: SecretStr | None = None
    """Key of that server; None: it needs none."""
    transcription_usd_per_minute: Price | None = None
    """Its price in USD, 0 to 1,000; None: unknown, and only the calls are counted."""
    transcription_timeout_s: float = Field(default=60.0, ge=1, le=600)
    """Seconds in which a voice message must be fetched and transcribed, 1 to 600."""
    local_model: Name | None = None
    """Model of faster-whisper that transcribes on this machine in place of a server, by name or folder; None: none."""
    max_seconds: int = Field(default=300, ge=1, le=3_600)
    """Longest voice message in seconds, 1 to 3,600."""
    max_bytes: int = Field(default=10_000_000, ge=1_000, le=25_000_000)
    """Largest voice message in bytes, 1,000 to 25,000,000."""
    speech_url: Url | None = None
    """Server with OpenAI's `/audio/speech`; None: answers are never spoken."""
    speech_model: Name = "tts-1"
    """Model that speaks."""
    speech_voice: Name = "alloy"
    """Voice of the model."""
    speech_key: SecretStr | None = None
    """Key of that server; None: it needs none."""
    speech_usd_per_million_chars: Price | None = None
    """Its price in USD, 0 to 1,000; None: unknown, and only the calls are counted."""
    speech_timeout_s: float = Field(default=30.0, ge=1, le=300)
    """Seconds in which an answer must be spoken, 1 to 300; the next message in the chat waits for it."""
    speech_max_chars: int = Field(default=1_000, ge=1, le=4_000)
    """Longest answer in characters that is spoken, 1 to 4,000; longer ones are text only."""

    @model_validator(mode="after")
    def _has_one_transcriber(self) -> Self:
        if self.transcription_url is not None and self.local_model is not None:
            raise ValueError("take out transcription_url or local_model: one of them transcribes")
        return self
