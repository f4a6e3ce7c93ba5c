"""The set-up of `config/deploy`: packages, keys, ports, and a stop that lets answers end."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from channels.web.attached import MAX_FILE_BYTES
from gateway.config.environment import SHORTHANDS
from gateway.config.settings import Settings, load
from tests.house.tree import ROOT

DEPLOY = ROOT / "config" / "deploy"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CLOSING_S = 10.0
"""Seconds of a stop beside draining."""

IMAGE = re.compile(r"(?:[a-z0-9-]+/)?[a-z0-9-]+:[a-z0-9.-]+")
"""A name and a version; a registry's host would have a dot or a port."""


def instructions() -> Iterator[tuple[str, str]]:
    text = re.sub(r"(?m)^#.*\n", "", (DEPLOY / "Dockerfile").read_text()).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        yield name, rest.strip()


def tree_of(lines: list[str]) -> Any:
    if lines[0].lstrip().startswith("- "):
        return [item.partition("- ")[2] for item in lines]
    depth = len(lines[0]) - len(lines[0].lstrip())
    found: dict[str, Any] = {}
    starts = [n for n, line in enumerate(lines) if len(line) - len(line.lstrip()) == depth] + [len(lines)]
    for start, end in pairwise(starts):
        key, _, value = lines[start].strip().partition(":")
        inner = lines[start + 1 : end]
        if value.strip() == "|" or not inner:
            found[key] = "\n".join(inner) or value.strip().strip('"')
        else:
            found[key] = tree_of(inner)
    return found


def compose() -> dict[str, Any]:
    lines = (DEPLOY / "compose.yaml").read_text().splitlines()
    found: dict[str, Any] = tree_of([line for line in lines if line.strip() and not line.lstrip().startswith("#")])
    return found


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_the_image_holds_the_locks_packages_and_no_more_rights_than_it_needs() -> None:
    found = list(instructions())
    images = [rest.split()[0] for name, rest in found if name == "FROM"]
    assert 2 == len(images) and all(map(IMAGE.fullmatch, images))
    minors = {int(minor) for image in images for minor in re.findall(r"^python:3\.(\d+)-", image)}
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()  # type: ignore[union-attr]  ours
    assert len(minors) == 1 and int(low) <= min(minors) < int(high)
    run = " ".join(rest for name, rest in found if name == "RUN")
    assert "--require-hashes" in run and "--requirement requirements.lock" in run and "PIP_NO_INDEX=1" in run
    extras = set(re.findall(r"/src\[([a-z,]+)\]", run)[0].split(","))
    assert extras <= set(PROJECT["optional-dependencies"]) - {"dev"}
    (user,) = [rest for name, rest in found if name == "USER"]
    assert user.partition(":")[0].isdigit() and int(user.partition(":")[0]) > 0


def test_signals_reach_the_gateway_itself() -> None:
    found = dict(instructions())
    words = json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"])
    assert ["tenk", "run"] == words and "tenk" in PROJECT["scripts"]
    assert "SIGTERM" == found["STOPSIGNAL"]
    assert Settings().http.listen.rpartition(":")[2] == found["EXPOSE"]


def test_what_is_secret_stays_out_of_the_image() -> None:
    everything, *named = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    sent = {name.removeprefix("!") for name in named}
    shared = {*PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]}
    assert "*" == everything and shared <= sent
    assert set() == {name for name in sent if name.startswith("config")} - shared  # the password in config/deploy/.env


def test_every_service_stops_in_its_own_time() -> None:
    services = compose()["services"]
    assert all("stop_signal" in service for service in services.values())
    gateway = services["gateway"]
    assert seconds(gateway["stop_grace_period"]) >= Settings().sessions.drain_s + CLOSING_S
    assert ("true", "SIGTERM", "SIGINT") == (
        gateway["init"],
        gateway["stop_signal"],
        services["postgres"]["stop_signal"],
    )


def test_services_name_what_there_is(tmp_path: Path) -> None:
    whole = compose()
    services = whole["services"]
    assert {"gateway", "postgres"} == {name for name, service in services.items() if "profiles" not in service}
    assert [] == [s["image"] for s in services.values() if "build" not in s and not IMAGE.fullmatch(s["image"])]
    named = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])]
    assert {name for name in named if re.fullmatch(r"\w+", name)} == set(whole["volumes"])
    assert [] == [name for name in named if name.startswith("./") and not (DEPLOY / name).exists()]
    environment = services["gateway"]["environment"]
    assert set(environment) <= {*SHORTHANDS}
    filled = {name: re.sub(r"\$\{\w+:[?-][^}]*\}", "x" * 16, value) for name, value in environment.items()}
    (tmp_path / "gateway.toml").touch()
    assert "postgresql" in load(tmp_path / "gateway.toml", filled).database_url


def test_the_proxy_asks_the_gateway_and_stops_what_the_gateway_leaves_to_it() -> None:
    text = (DEPLOY / "Caddyfile").read_text()
    assert f"reverse_proxy {{$GATEWAY:{Settings().http.listen}}} {{" in text
    caddy = compose()["services"]["caddy"]
    assert set(re.findall(r"\{\$(\w+):", text)) == set(caddy["environment"])
    assert "respond /metrics 404" in text
    assert {"read_header", "read_body", "max_header_size"} <= set(text.split())
    (megabytes,) = re.findall(r"max_size (\d+)MB", text)
    assert int(megabytes) * 1_000_000 > MAX_FILE_BYTES
    (kept_s,) = re.findall(r"keepalive (\d+)s", text)
    assert int(kept_s) < Settings().http.head_timeout_s
    assert "config/deploy/Caddyfile" in (ROOT / "docs/install.md").read_text()


def test_no_host_is_named_but_our_own() -> None:
    text = "".join(path.read_text() for path in DEPLOY.iterdir() if path.suffix in {"", ".yaml", ".service"})
    assert {"http://127.0.0.1", "http://prometheus"} == set(re.findall(r"https?://[\w.-]+", text))


@pytest.mark.parametrize("name", ["tenk.service", "tenk@.service"])
def test_systemd_takes_the_unit(name: str, tmp_path: Path) -> None:
    text = (DEPLOY / name).read_text()
    keys = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    assert float(keys["TimeoutStopSec"]) >= Settings().sessions.drain_s + CLOSING_S
    assert ("mixed", "notify") == (keys["KillMode"], keys["Type"])
    if (verify := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not installed")
    unit = tmp_path / name.replace("@", "@1")
    unit.write_text(text.replace("/opt/tenk/.venv/bin/tenk", "/bin/true"))
    done = subprocess.run([verify, "verify", "--man=no", unit], capture_output=True, text=True, check=False, timeout=60)
    assert (0, "") == (done.returncode, done.stderr)


def test_a_process_of_several_differs_by_its_number_alone() -> None:
    one, several = ((DEPLOY / name).read_text().splitlines() for name in ("tenk.service", "tenk@.service"))
    own = [line for line in several if line not in one]
    assert [] == [line for line in own if "%i" not in line and not line.startswith("#")]
    assert [] == [line for line in one if line not in several and not line.startswith(("#", "Description="))]
