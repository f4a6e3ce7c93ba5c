"""A long quiet load: what the gateway holds after an hour beyond what it held after ten minutes.

`python -m tests.torture.soak [MINUTES] [A_SECOND] [PLATFORM]`. People write evenly, a model answers at once; every half
minute the memory, descriptors, threads and tasks of the process are read. The slope is that of a straight line through
the second half, when caches have filled.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from channels.simulators.shared.simulator import AnySimulator
from tests.bench.subject import Subject
from tests.bench.world import PLATFORMS, SHORT_ANSWER, AnswerReader, ModelServer, until

CHILD = Path(__file__).with_name("soak_child.py")
PEOPLE = 60
FIRST_PERSON = 1000
SAMPLE_EVERY_S = 30.0
CONFIG = """
[gateway]
log_level = "warning"
[access]
direct = "open"
[access.limits]
messages_per_min = 6000
burst_messages = 6000
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment."""

    at_s: float
    rss_mb: float
    descriptors: int
    threads: int
    tasks: int


@dataclass(slots=True)
class Soak:
    """The samples of a load."""

    samples: list[Sample]
    written: int = 0
    answered: int = 0

    def slope(self, field: str) -> float:
        """Return the growth an hour over the second half, by least squares."""
        half = self.samples[len(self.samples) // 2 :]
        return 3600 * _slope([sample.at_s for sample in half], [float(getattr(sample, field)) for sample in half])

    def line(self) -> str:
        last = self.samples[-1]
        return (
            f"{last.at_s / 60:.0f} min: {self.written} written, {self.answered} answered, {last.rss_mb:.1f} MiB, "
            f"{last.descriptors} descriptors, {last.threads} threads, {last.tasks} tasks; an hour: "
            f"{self.slope('rss_mb'):+.1f} MiB, {self.slope('descriptors'):+.1f} descriptors, "
            f"{self.slope('tasks'):+.1f} tasks"
        )


def _slope(at: Sequence[float], values: Sequence[float]) -> float:
    middle, mean = sum(at) / len(at), sum(values) / len(values)
    spread = sum((moment - middle) ** 2 for moment in at)
    rise = sum((moment - middle) * (value - mean) for moment, value in zip(at, values, strict=True))
    return rise / spread if spread else 0.0


async def run_soak(directory: Path, platform: AnySimulator, *, minutes: float, per_s: float, seed: int = 1) -> Soak:
    """Let people write so many messages a second for so long."""
    soak, chance, answers = Soak([]), random.Random(seed), AnswerReader(platform)
    config = directory / "soak.toml"
    config.write_text(CONFIG)
    async with platform, ModelServer(delay_s=0.02) as server:
        server.answer = SHORT_ANSWER
        environment = {
            **platform.environment(),
            "OPENAI_BASE_URL": server.base_url,
            "TENK_MODEL": "openai:soak",
            "TENK_HOME": str(directory / "home"),
            "TENK_HTTP": "127.0.0.1:0",
        }
        async with Subject([str(CHILD), str(config)], environment, directory / "gateway.log") as subject:
            await until(lambda: subject.pid > 0 and platform.is_connected(), 60)
            begun_s = time.monotonic()
            next_sample_s = begun_s
            while (now_s := time.monotonic()) < begun_s + minutes * 60:
                chat = platform.direct(FIRST_PERSON + chance.randrange(PEOPLE))
                platform.say(chat, f"how is my practice going? ({soak.written})")
                soak.written += 1
                soak.answered += len(answers.read())
                if now_s >= next_sample_s:
                    next_sample_s += SAMPLE_EVERY_S
                    soak.samples.append(_sample(subject, now_s - begun_s, directory))
                    sys.stdout.write(f"{soak.line()}\n")
                    sys.stdout.flush()
                await asyncio.sleep(max(0.0, begun_s + soak.written / per_s - time.monotonic()))
    return soak


def _sample(subject: Subject, at_s: float, directory: Path) -> Sample:
    process = Path(f"/proc/{subject.pid}")
    counted = directory / "home" / "counted.json"
    tasks = int(json.loads(counted.read_text())["tasks"]) if counted.exists() else 0
    return Sample(
        at_s, subject.rss_mb(), len(list((process / "fd").iterdir())), len(list((process / "task").iterdir())), tasks
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    name = given.pop() if given and given[-1] in PLATFORMS else "telegram"
    minutes, per_s = (float(argument) for argument in (given + ["60", "5"][len(given) :]))
    with tempfile.TemporaryDirectory() as where:
        asyncio.run(run_soak(Path(where), PLATFORMS[name](), minutes=minutes, per_s=per_s))
