"""The shop's tools, which every framework's shop offers in its own way.

They note in a folder what they did, because some shops are processes of their own.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

FOLDER = "SHOP_LEDGER"
"""Variable with the folder of the notes."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The notes of what the tools did."""

    folder: Path

    @property
    def ordered(self) -> list[str]:
        return self._lines("ordered")

    @property
    def counting(self) -> list[str]:
        """Return the things that `stock` has begun to count."""
        return self._lines("counting")

    @property
    def slow(self) -> Path:
        """Return the file that makes `stock` wait while it is there."""
        return self.folder / "slow"

    def note(self, name: str, item: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(f"{item}\n")

    def _lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().split() if file.exists() else []


def ledger() -> Ledger:
    return Ledger(Path(os.environ[FOLDER]))


async def price(item: str) -> str:
    """Return the price of a thing."""
    return f"{item} costs 3 euros"


async def order(item: str) -> str:
    """Order a thing."""
    ledger().note("ordered", item)
    return f"{item} is ordered"


async def stock(item: str) -> str:
    """Count how many of a thing are there, which takes a while."""
    ledger().note("counting", item)
    while ledger().slow.exists():
        await asyncio.sleep(0.02)
    return f"there are 7 of {item}"
