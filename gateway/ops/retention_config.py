"""Settings of `[retention]`: how long settled rows are kept, by kind."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LEAST_KEY_DAYS = 7
"""Fewest days to keep deduplication keys. Platforms redeliver for a day at most: Telegram keeps updates for 24 h
(core.telegram.org/bots/api, 2026-03), Slack retries for an hour and, with delayed events, for 24 h (docs.slack.dev,
2026-03), Discord resumes for minutes and is read back for `backfill_hours`, 24. A week leaves a margin for outages and
wrong clocks."""


def _longer_than_redelivery(days: int) -> int:
    if 0 < days < LEAST_KEY_DAYS:
        raise ValueError(
            f"at least {LEAST_KEY_DAYS} days, or 0 for ever: the row recognises a message that a platform redelivers"
        )
    return days


Days = Annotated[int, Field(ge=0, le=36_500, strict=True)]  # strict: `true` is not a number of days
KeyDays = Annotated[Days, AfterValidator(_longer_than_redelivery)]


class RetentionConfig(BaseModel):
    """Days to keep settled rows; 0 keeps them for ever. Open rows stay until they are settled."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inbox_days: KeyDays = 30
    refused_days: KeyDays = 7
    outbox_days: Days = 30
    journal_days: Days = 365
    abstracts_days: Days = 90
    usage_days: Days = 400
    audit_days: Days = 730
    blobs_days: Days = 7
    pictures_days: Days = 30
