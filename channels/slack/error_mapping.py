"""A call that did not go well becomes one of the three errors that the gateway knows. Pure; no SDK is imported here.

Error names are those of docs.slack.dev/reference/methods (read 2026-11).
"""

from channels.errors import ChannelError, ConfigRefused, Permanent, PermanentKind, Retryable, Unknown
from channels.foreign import words_of
from channels.http_answers import to_foreign_error

APPS = "api.slack.com/apps"
WORD_CHARS = 120  # of Slack's names of errors and scopes

BAD_TOKEN = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type",
     "no_permission", "org_login_required", "access_denied"}
)  # fmt: skip
MISSING_SCOPE = "missing_scope"
STREAMING = "streaming_state_conflict"  # the message is a stream: nothing else may change it before its end

_UNSURE = frozenset({"internal_error", "fatal_error", "request_timeout", "service_unavailable", "ekm_access_denied"})
_LATER = frozenset({"ratelimited", "rate_limited", "team_added_to_org", "message_limit_exceeded", STREAMING})
_UNREACHABLE = frozenset(
    {"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "user_disabled", "cannot_dm_bot",
     "messages_tab_disabled", "restricted_action", "restricted_action_read_only_channel",
     "restricted_action_thread_only_channel",
     "user_not_visible", "channel_type_not_supported", "cannot_reply_to_message", "thread_locked"}
)  # fmt: skip
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "cant_delete_message"})
_MALFORMED = frozenset(
    {"msg_too_long", "no_text", "invalid_blocks", "invalid_blocks_format", "markdown_text_conflict",
     "too_many_attachments",     "msg_blocks_too_long", "invalid_attachments"}
)  # fmt: skip


class ApiRefusal(Exception):
    """Slack answered that it did not do it."""

    def __init__(
        self, method: str, error: str, *, status: int = 200, needed: str = "", retry_after_s: float | None = None
    ) -> None:
        """`error` is Slack's own word, `needed` the scope it misses."""
        error, needed = words_of(error, WORD_CHARS), words_of(needed, WORD_CHARS)
        super().__init__(f"{method}: {error}" + (f" (needs {needed})" if needed else ""))
        self.method = method
        self.error = error
        self.status = status
        self.needed = needed
        self.retry_after_s = retry_after_s


def to_channel_error(refusal: ApiRefusal) -> ChannelError:
    """What a refusal means to who sent.

    What only the operator can mend (a token, a scope) is retryable: nothing is lost by waiting until they did.
    """
    words, error = str(refusal), refusal.error
    if refusal.status == 429 or error in _LATER:
        return Retryable(words, retry_after_s=refusal.retry_after_s)
    if is_operators_matter(refusal):
        return Retryable(f"{words}; {where_to_mend(refusal)}")
    if refusal.status >= 500 or error in _UNSURE:
        return Unknown(words)
    return Permanent(words, _kind(error))


def is_operators_matter(refusal: ApiRefusal) -> bool:
    """Whether only the operator can mend it: a token that is refused, or misses a scope."""
    return refusal.error in BAD_TOKEN or refusal.error == MISSING_SCOPE


def _kind(error: str) -> PermanentKind:
    if error in _UNREACHABLE:
        return PermanentKind.BLOCKED
    if error in _GONE:
        return PermanentKind.TARGET_GONE
    if error in _MALFORMED:
        return PermanentKind.MALFORMED
    return PermanentKind.REJECTED


def not_slacks(method: str, status: object, retry_after_s: float | None = None) -> ChannelError:
    """What an answer means that is none of Slack's."""
    return to_foreign_error(status, f"{method}: HTTP {status} and no answer of Slack's", retry_after_s)


def where_to_mend(refusal: ApiRefusal, *, app_token: bool = False) -> str:
    """Where the operator clicks."""
    if refusal.error == MISSING_SCOPE and not app_token:
        needed = refusal.needed or "the scope this needs"
        return f"add {needed} at {APPS} → OAuth & Permissions → Bot Token Scopes, then Reinstall to Workspace"
    if app_token:
        return (
            f"take the xapp- token from {APPS} → Basic Information → App-Level Tokens; it needs the scope "
            "connections:write"
        )
    return f"take the xoxb- token from {APPS} → OAuth & Permissions → Bot User OAuth Token"


def config_refused(account: str, refusal: ApiRefusal, *, app_token: bool = False) -> ConfigRefused:
    """What ends the channel, in words for the operator."""
    if refusal.error == MISSING_SCOPE:
        what = f"misses the scope {refusal.needed}" if refusal.needed else "misses a scope"
    else:
        what = f"is refused ({refusal.error})"
    which = "app-level token" if app_token else "bot token"
    return ConfigRefused(
        f"Slack: the {which} of account {account!r} {what}: {where_to_mend(refusal, app_token=app_token)}; then restart"
    )


def socket_mode_off(account: str) -> ConfigRefused:
    """Slack cut the socket because the app does not use Socket Mode."""
    return ConfigRefused(
        f"Slack: Socket Mode is off for the app of account {account!r}: {APPS} → Socket Mode → Enable Socket Mode; "
        "then restart"
    )
