"""A store URL is read once, in one place; one that cannot be meant is refused in words that say what to write."""

import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import SettingsError
from gateway.store.addresses import file_of, public_url, read_url, server_of


def test_file_of_a_store_url() -> None:
    """SQLite's file, absolute or not; a server has none."""
    assert [Path("/a/b.db"), Path("b.db"), None] == [
        file_of(url) for url in ("sqlite:////a/b.db", "sqlite:///b.db", "postgresql://u@h/d")
    ]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgres", "cannot be read; write sqlite:///path/tenk.db or postgresql://user:password@host/database"),
        ("'postgresql://u:p@h/d'", "without quotation marks"),
        ("postgresql://u:p@h:abc/d", "its port is no number"),
        ("postgresql://u:p@h1:5432,h2:5433/d", "several hosts"),
        ("postgresql://u:p@h:99999/d", "its port is none: 99999"),
        ("postgresql://u:p@h/d?port=99999", "its port is none: 99999"),
        ("postgresql://u:p@canary@h/d", "%40 for @"),
        ("postgresql://u:p@canary/word@h/d", "%40 for @"),
        ("postgresql://[h/d", "cannot be read"),
        ("mysql://u@h/d", "no store for 'mysql'"),
        ("sqlite:///:memory:", "would forget what it acknowledged"),
        ("sqlite:///", "would forget what it acknowledged"),
    ],
)
def test_a_url_that_cannot_be_meant_is_refused_in_words(url: str, says: str) -> None:
    """Nothing of it is quoted that may be a part of a password."""
    with pytest.raises(SettingsError) as refused:
        read_url(url)
    assert says in str(refused.value)
    assert "canary" not in str(refused.value)


def test_what_stands_behind_the_question_mark_is_the_drivers() -> None:
    """As every managed server's page gives it: `sslmode` is libpq's, and no word of SQLAlchemy's."""
    url, given = server_of("postgres://u:p%40ss@h:5433/d?sslmode=require&sslrootcert=/etc/a%20b.pem")
    assert ("postgresql+asyncpg", {}, {"dsn": "postgresql://?sslmode=require&sslrootcert=%2Fetc%2Fa%20b.pem"}) == (
        url.drivername, dict(url.query), given,
    )  # fmt: skip
    assert ({}, "h") == (server_of("postgresql://u@h/d")[1], server_of("postgresql://u@h/d")[0].host)


def test_a_url_is_shown_without_a_password() -> None:
    """Also where that stands behind the question mark."""
    assert "postgresql://u:***@h/d" == public_url("postgres://u:canary@h/d?sslmode=require&password=canary")
    assert "postgresql:///d?host=%2Frun" == public_url("postgresql:///d?password=canary&host=/run")
    assert str(Path("b.db").absolute()) == public_url("sqlite:///b.db")


def test_without_its_driver_a_server_is_refused_in_words() -> None:
    """Who installed without the extra is told which one it is."""
    looks = (
        "import sys; sys.modules['asyncpg'] = None; "
        "from gateway.store.addresses import server_of; server_of(*sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", looks, "postgresql://u@h/d"], capture_output=True, text=True, check=False
    )
    assert "asyncpg is not installed: install the gateway with the extra postgres" in done.stderr.splitlines()[-1]
