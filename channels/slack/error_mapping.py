"""Meaning of Slack's refusals, and where the operator fixes them. Pure; imports no SDK.

Error names are those of docs.slack.dev/reference/methods (read 2026-11).
"""

from channels.chat.refusals import ApiRefusal, RefusalTable
from channels.errors import ChannelError, ConfigRefused, PermanentKind, Retryable
from channels.foreign import words_of

APPS = "api.slack.com/apps"
WORD_CHARS = 120  # of Slack's names of errors and scopes

BAD_TOKEN = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
        "no_permission",
        "org_login_required",
        "access_denied",
    }
)
MISSING_SCOPE = "missing_scope"
STREAMING = "streaming_state_conflict"  # the message is a stream: nothing else may change it before its end

_UNSURE = frozenset({"internal_error", "fatal_error", "request_timeout", "service_unavailable", "ekm_access_denied"})
_LATER = frozenset({"ratelimited", "rate_limited", "team_added_to_org", "message_limit_exceeded", STREAMING})
_UNREACHABLE = frozenset(
    {
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "user_not_found",
        "user_disabled",
        "cannot_dm_bot",
        "messages_tab_disabled",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "user_not_visible",
        "channel_type_not_supported",
        "cannot_reply_to_message",
        "thread_locked",
    }
)
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "cant_delete_message"})
_MALFORMED = frozenset(
    {
        "msg_too_long",
        "no_text",
        "invalid_blocks",
        "invalid_blocks_format",
        "markdown_text_conflict",
        "too_many_attachments",
        "msg_blocks_too_long",
        "invalid_attachments",
    }
)


REFUSALS = RefusalTable(
    kinds=dict.fromkeys(_UNREACHABLE, PermanentKind.BLOCKED)
    | dict.fromkeys(_GONE, PermanentKind.TARGET_GONE)
    | dict.fromkeys(_MALFORMED, PermanentKind.MALFORMED),
    later=_LATER,
    unsure=_UNSURE,
)


def refusal_of(
    method: str, error: str, *, status: int = 200, needed: str = "", retry_after_s: float | None = None
) -> ApiRefusal:
    """Return the refusal with Slack's code `error`; `needed` is the missing scope."""
    error, needed = words_of(error, WORD_CHARS), words_of(needed, WORD_CHARS)
    words = f"{method}: {error}" + (f" (needs {needed})" if needed else "")
    return ApiRefusal(status, error, words, needed=needed, retry_after_s=retry_after_s)


def to_channel_error(refusal: ApiRefusal) -> ChannelError:
    """Return the error for a refusal.

    If only the operator can fix it (a token, a scope), it is retryable: nothing is lost by waiting.
    """
    if is_operators_matter(refusal):
        return Retryable(f"{refusal}; {where_to_mend(refusal)}")
    return REFUSALS.to_channel_error(refusal)


def is_operators_matter(refusal: ApiRefusal) -> bool:
    """Return True if only the operator can fix it: a refused token, or a missing scope."""
    return refusal.code in BAD_TOKEN or refusal.code == MISSING_SCOPE


def where_to_mend(refusal: ApiRefusal, *, app_token: bool = False) -> str:
    """Return the place in Slack's settings where the operator fixes it."""
    if refusal.code == MISSING_SCOPE and not app_token:
        needed = refusal.needed or "the scope this needs"
        return f"add {needed} at {APPS} → OAuth & Permissions → Bot Token Scopes, then Reinstall to Workspace"
    if app_token:
        return (
            f"take the xapp- token from {APPS} → Basic Information → App-Level Tokens; it needs the scope "
            "connections:write"
        )
    return f"take the xoxb- token from {APPS} → OAuth & Permissions → Bot User OAuth Token"


def config_refused(account: str, refusal: ApiRefusal, *, app_token: bool = False) -> ConfigRefused:
    """Return the error that ends the channel, in words for the operator."""
    if refusal.code == MISSING_SCOPE:
        what = f"misses the scope {refusal.needed}" if refusal.needed else "misses a scope"
    else:
        what = f"is refused ({refusal.code})"
    which = "app-level token" if app_token else "bot token"
    return ConfigRefused(
        f"Slack: the {which} of account {account!r} {what}: {where_to_mend(refusal, app_token=app_token)}; then restart"
    )


def socket_mode_off(account: str) -> ConfigRefused:
    """Return the error for an app whose Socket Mode is off."""
    return ConfigRefused(
        f"Slack: Socket Mode is off for the app of account {account!r}: {APPS} → Socket Mode → Enable Socket Mode; "
        "then restart"
    )
