"""The command line as a person meets it, in a process of its own."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli.root import COMMANDS, root
from gateway.cli.status import lines_of
from gateway.errors import GatewayError
from gateway.ops.lock import HomeLock
from gateway.safety.private_files import check_home
from tests.fakes.fork_server import ForkServer

ROOT = Path(__file__).parents[3]
FULL = Path("/dev/full")
TOKEN = "123456789:" + "AbC-_" * 7


def tenk(*arguments: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `tenk` in an empty directory with nothing but this environment."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    env = kept | {"PYTHONPATH": str(ROOT), "TENK_HOME": str(home / "var")} | environ
    return ForkServer.of().run(["-m", "gateway", *arguments], env, home, timeout_s=50)


def test_help_lists_every_command(tmp_path: Path) -> None:
    done = tenk("--help", home=tmp_path)
    assert (0, "") == (done.returncode, done.stderr)
    assert [] == [name for name, (_, summary) in COMMANDS.items() if f"{name}" not in done.stdout]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = CliRunner().invoke(root, [name, "--help"], prog_name="tenk")
    assert (0, "") == (done.exit_code, done.stderr)
    assert f"tenk {name}" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"), [("tenk pla", {"playground"}), ("tenk --t", {"--tenant"}), ("tenk users ro", {"role"})]
)
def test_a_shell_completes_commands(words: str, offered: set[str], tmp_path: Path) -> None:
    shell = {"_TENK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert {f"plain,{name}" for name in offered} == set(tenk(home=tmp_path, **shell).stdout.split())


def test_a_wrong_command_is_told(tmp_path: Path) -> None:
    done = tenk("docter", home=tmp_path)
    assert (2, True) == (done.returncode, "No such command 'docter'. Did you mean 'doctor'?" in done.stderr)


def test_a_bad_configuration_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[http]\nlisen = 1\n")
    done = tenk("config", "check", "--config", "mine.toml", home=tmp_path)
    expected = 'error: mine.toml:2: http.lisen: there is no such key; did you mean "listen"?\n'
    assert (1, "", expected) == (done.returncode, done.stdout, done.stderr)


def test_config_check_says_what_could_be_set(tmp_path: Path) -> None:
    done = tenk("config", "check", home=tmp_path)
    assert (0, "The configuration is valid.") == (done.returncode, done.stdout.splitlines()[0])
    assert "no platform and no model" in done.stdout and "init` asks for" in done.stdout


def test_config_show_masks_secrets_and_names_sources(tmp_path: Path) -> None:
    done = tenk("config", "show", home=tmp_path, TELEGRAM_BOT_TOKEN=TOKEN, TENK_HTTP="127.0.0.1:9")
    assert 0 == done.returncode
    assert 'token = "********"  # TELEGRAM_BOT_TOKEN' in done.stdout
    assert 'listen = "127.0.0.1:9"  # TENK_HTTP' in done.stdout
    assert done.stdout.startswith("# From the files and the environment of this shell. A running gateway shows ")
    assert "[channels.telegram.main]" in done.stdout
    assert TOKEN not in done.stdout + done.stderr


def test_config_show_prints_caps_in_usd_and_unset_takes_one_away(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "# mine\n[budgets]\n# a person\nuser_usd = 0.000001\nday_usd = 5 # all\n\n# end\n"
    )
    done = tenk("config", "show", "--config", "mine.toml", home=tmp_path)
    assert ("", True) == (done.stderr, "user_usd = 0.000001  # mine.toml:4" in done.stdout)
    done = tenk("config", "unset", "budgets.user_usd", "--config", "mine.toml", home=tmp_path)
    assert (0, "budgets.user_usd is removed from mine.toml.") == (done.returncode, done.stdout.splitlines()[0])
    assert "# mine\n[budgets]\n# a person\nday_usd = 5 # all\n\n# end\n" == (tmp_path / "mine.toml").read_text()
    done = tenk("config", "unset", "budgets.user_usd", "--config", "mine.toml", home=tmp_path)
    assert (0, "budgets.user_usd was not set in any file.") == (done.returncode, done.stdout.splitlines()[0])


def test_pairing_works_without_a_running_gateway(tmp_path: Path) -> None:
    refused = tenk("pairing", "approve", "Bob", home=tmp_path)
    assert (1, "error: ") == (refused.returncode, refused.stderr.splitlines()[-1][:7])
    assert "`tenk pairing list` shows the id for `tenk pairing approve --request ID`" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_pairing_approve_needs_a_code_or_a_number(tmp_path: Path) -> None:
    assert 2 == tenk("pairing", "approve", home=tmp_path).returncode
    assert 2 == tenk("pairing", "approve", "ABCD2345", "--request", "1234", home=tmp_path).returncode


def test_an_invitation_is_made_and_taken_back_without_a_gateway(tmp_path: Path) -> None:
    made = tenk("invite", "--days", "2", home=tmp_path).stdout
    code = re.search(r"send ((?:[2-9A-HJ-NP-Z]{4}-){3}[2-9A-HJ-NP-Z]{4}) to the bot", made)
    number = re.search(r"invite revoke ([0-9a-f]{8})", made)
    assert code is not None
    assert number is not None
    assert 0 == tenk("invite", "revoke", number[1], home=tmp_path).returncode
    listed = tenk("invite", "list", home=tmp_path).stdout
    assert re.search(rf"^ID +ROLE +STATE .*\n{number[1]}  member  revoked", listed)
    assert code[1] not in listed


def test_block_and_deny_answer(tmp_path: Path) -> None:
    blocked = tenk("pairing", "block", "telegram:42", home=tmp_path)
    assert (0, True) == (blocked.returncode, blocked.stdout.startswith("telegram:42 (telegram:42) is blocked. Nobody"))
    assert 1 == tenk("pairing", "deny", "zzzz9999", home=tmp_path).returncode


def test_people_are_shown_and_changed_without_a_gateway(tmp_path: Path) -> None:
    tenk("pairing", "block", "telegram:42", home=tmp_path)
    changed = tenk("users", "role", "telegram:42", "member", home=tmp_path)
    assert "telegram:42 (telegram:42) is member now.\nThey have access to no account: where" in changed.stdout
    assert "member  telegram:42" in tenk("users", "list", home=tmp_path).stdout


def test_unblocking_a_stranger_says_how_to_let_them_in(tmp_path: Path) -> None:
    tenk("pairing", "block", "telegram:42", home=tmp_path)
    unblocked = tenk("users", "unblock", "telegram:42", home=tmp_path).stdout
    assert "not blocked any more; they are a member.\nThey have access to no account: where" in unblocked


def test_changes_are_accounted_for_without_a_gateway(tmp_path: Path) -> None:
    tenk("pairing", "block", "telegram:42", home=tmp_path)
    tenk("pairing", "block", "telegram:4", home=tmp_path)
    (changed,) = json.loads(
        tenk("audit", "--action", "person_blocked", "--about", "telegram:4", "--json", home=tmp_path).stdout
    )
    assert ("cli", "telegram:4") == (changed["by"], changed["detail"])
    assert "No such changes.\n" == tenk("audit", "--by", "telegram:4", home=tmp_path).stdout
    assert f"telegram:4 ({changed['subject'][-8:]})" in tenk("audit", home=tmp_path).stdout
    refused = tenk("users", "revoke", "telegram:42", "telegram:main", home=tmp_path)
    assert (1, "error: ") == (refused.returncode, refused.stderr[:7])


LISTS = {
    "users list": "Nobody has access yet.",
    "keys list": "There are no keys.",
    "usage": "No model calls yet.",
    "usage --light openai:gpt-5-nano": "No turn was recorded.",
    "sessions list": "There are no conversations yet.",
}


def test_lists_are_read_beside_the_process_that_holds_the_home(tmp_path: Path) -> None:
    assert 2 == tenk("usage", "--days", "0", home=tmp_path).returncode
    before = tenk("users", "list", home=tmp_path)
    assert (1, True) == (before.returncode, "no gateway has run on this home" in before.stderr)
    assert not (tmp_path / "var").exists()
    tenk("db", "upgrade", home=tmp_path)
    with HomeLock(tmp_path / "var"):
        shown = {words: tenk(*words.split(), home=tmp_path).stdout for words in LISTS}
        refused = tenk("pairing", "approve", "ABCD2345", home=tmp_path)
        status = tenk("status", home=tmp_path)
    assert {words: f"{nothing}\n" for words, nothing in LISTS.items()} == shown
    assert (1, True) == (refused.returncode, "it does not answer: it starts, stops or hangs" in refused.stderr)
    assert (3, True) == (status.returncode, "does not answer" in status.stdout)
    assert not list((tmp_path / "var").glob("*.key"))


def test_status_without_a_gateway_exits_with_3_and_makes_nothing(tmp_path: Path) -> None:
    done = tenk("status", home=tmp_path)
    assert 3 == done.returncode
    assert f"No gateway is running on {tmp_path / 'var'}.\nThere is no data. " in done.stdout
    console = tenk("console", home=tmp_path)  # whose pages only a gateway has
    assert (1, "error: no gateway answers") == (console.returncode, console.stderr[:25])
    assert not (tmp_path / "var").exists()


def test_the_doctor_says_what_is_to_be_done_and_mends_it(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "secrets.toml").touch()
    (tmp_path / "config" / "secrets.toml").chmod(0o644)
    told = tenk("doctor", "--local", home=tmp_path, TENK_HTTP="127.0.0.1:0")
    assert (1, True) == (told.returncode, "run: chmod 600 config/secrets.toml" in told.stdout)
    mended = tenk("doctor", "--local", "--fix", "--json", home=tmp_path, TENK_HTTP="127.0.0.1:0")
    found = json.loads(mended.stdout)
    assert (0, ["files", "configuration", "files", "disk", "database"]) == (
        mended.returncode,
        [e["part"] for e in found],
    )
    assert "mode 0600" in found[0]["mended"]


def test_db_upgrade_makes_the_store(tmp_path: Path) -> None:
    for _ in range(2):
        done = tenk("db", "upgrade", home=tmp_path)
        assert (0, "The database is up to date.\n") == (done.returncode, done.stdout)
    assert '"pairing_requests": {}' in tenk("status", "--json", home=tmp_path).stdout


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("")
    done = tenk("db", "upgrade", home=tmp_path)
    assert (1, True) == (done.returncode, "TENK_HOME" in done.stderr)
    assert "Traceback" not in done.stderr


def test_a_taken_port_of_the_simulator_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = tenk("sim", "telegram", "--port", str(port), home=tmp_path)
    assert (1, True) == (done.returncode, f"error: port {port} cannot be used" in done.stderr)


def test_the_simulator_runs_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gateway", "sim", "telegram", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            base = running.stdout.readline().split()[-1]
            with urllib.request.urlopen(f"{base}/bot{TOKEN}/getMe", data=b"", timeout=10) as answer:
                assert json.load(answer)["result"]["is_bot"]
        finally:
            running.terminate()


def test_a_taken_port_is_the_only_thing_that_a_start_says(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = tenk("run", home=tmp_path, TENK_HTTP=f"127.0.0.1:{port}")
    told = f"error: port {port} on 127.0.0.1 is in use by another process; set TENK_HTTP"
    assert (1, "", 1) == (done.returncode, done.stdout, len(done.stderr.splitlines()))
    assert done.stderr.startswith(told)


def test_an_answer_is_shown_line_by_line() -> None:
    answer = {"pid": 7, "parts": {"store": {"state": "ready", "detail": ""}}, "outbox": {}}
    assert ["pid: 7", "parts:", "  store:", "    state: ready", "outbox: none"] == lines_of(answer)


def test_nothing_is_restored_under_a_running_gateway(tmp_path: Path) -> None:
    with HomeLock(tmp_path / "var"):
        done = tenk("db", "restore", "copy.db", home=tmp_path)
    assert (1, True) == (done.returncode, "already runs a gateway" in done.stderr)
    done = tenk("db", "backup", "copy.db", home=tmp_path, DATABASE_URL="postgresql://u:canary@127.0.0.1:1/d")
    assert (1, True, False) == (done.returncode, "pg_dump" in done.stderr, "canary" in done.stderr)


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_output_that_cannot_be_written_is_a_line(tmp_path: Path) -> None:
    told = tmp_path / "told"
    lost = ForkServer.of().start(["-m", "gateway", "--version"], os.environ, tmp_path, FULL, told)
    assert 1 == lost.wait_until(60)
    assert told.read_text().startswith("error: this cannot be written")


@pytest.mark.gate
def test_a_terminal_without_a_character_shows_a_question_mark(tmp_path: Path) -> None:
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TENK_HOME": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-m", "gateway", "keys", "create", "\N{GUITAR}"],
        env=kept | {"PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
        cwd=tmp_path,
        encoding="latin-1",
    )
    assert (0, True) == (shown.returncode, shown.stdout.splitlines()[0].endswith("(?) allows: chat.")), shown.stderr


def test_what_this_user_may_not_look_at_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GatewayError, match=r"cannot be looked at \(File name too long\); run as whose it is"):
        check_home(tmp_path / ("x" * 300))
    check_home(tmp_path / "file" / "below")
