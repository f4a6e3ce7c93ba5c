"""The threads of asyncio, for foreign code only: the gateway's own work would wait behind what hangs in them."""

from tests.house.tree import named, python_files

SIMULATOR = "channels/simulators/serve.py"  # a process of its own


def test_no_work_of_the_gateway_runs_in_the_threads_of_asyncio() -> None:
    users = [named(path) for path in python_files("gateway", "channels") if "to_thread" in path.read_text()]
    assert [SIMULATOR] == users
