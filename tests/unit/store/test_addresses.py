"""Store URLs: parsed in one place; an impossible one gets an error that says what to write."""

import subprocess
import sys
from pathlib import Path

from gateway.store.addresses import file_of, public_url, server_of


def test_file_of_a_store_url() -> None:
    assert [Path("/a/b.db"), Path("b.db"), None] == [
        file_of(url) for url in ("sqlite:////a/b.db", "sqlite:///b.db", "postgresql://u@h/d")
    ]


def test_what_stands_behind_the_question_mark_is_the_drivers() -> None:
    url, given = server_of("postgres://u:p%40ss@h:5433/d?sslmode=require&sslrootcert=/etc/a%20b.pem")
    assert ("postgresql+asyncpg", {}, {"dsn": "postgresql://?sslmode=require&sslrootcert=%2Fetc%2Fa%20b.pem"}) == (
        url.drivername,
        dict(url.query),
        given,
    )
    assert ({}, "h") == (server_of("postgresql://u@h/d")[1], server_of("postgresql://u@h/d")[0].host)


def test_a_url_is_shown_without_a_password() -> None:
    assert "postgresql://u:***@h/d" == public_url("postgres://u:canary@h/d?sslmode=require&password=canary")
    assert "postgresql:///d?host=%2Frun" == public_url("postgresql:///d?password=canary&host=/run")
    assert str(Path("b.db").absolute()) == public_url("sqlite:///b.db")


def test_without_its_driver_a_server_is_refused_in_words() -> None:
    looks = (
        "import sys; sys.modules['asyncpg'] = None; "
        "from gateway.store.addresses import server_of; server_of(*sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", looks, "postgresql://u@h/d"], capture_output=True, text=True, check=False
    )
    assert "asyncpg is not installed: install the gateway with the extra postgres" in done.stderr.splitlines()[-1]
