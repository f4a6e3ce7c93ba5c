"""The domains that may be read; pure."""

from collections.abc import Sequence

from yarl import URL


class DomainRules:
    """Lists of allowed and denied domains; each stands for its subdomains, too."""

    def __init__(self, allowed: Sequence[str], denied: Sequence[str]) -> None:
        self._allowed = [_host(name) for name in allowed]
        self._denied = [_host(name) for name in denied]

    def permits(self, url: URL) -> bool:
        """Return True if pages of this URL's host may be read."""
        host = (url.raw_host or "").rstrip(".")
        if any(_is_under(host, name) for name in self._denied):
            return False
        return not self._allowed or any(_is_under(host, name) for name in self._allowed)


def _host(name: str) -> str:
    """Return a configured name as it stands in URLs: lower case, punycode."""
    plain = name.strip().lower().removeprefix("*").strip(".")
    return URL.build(scheme="http", host=plain).raw_host or plain


def _is_under(host: str, name: str) -> bool:
    return host == name or host.endswith(f".{name}")
