"""The shop's tools, which every framework's shop offers in its own way."""

import asyncio
import os
from pathlib import Path
from typing import ClassVar


class Ledger:
    """A record of what the tools did; the event for which `stock` waits."""

    ordered: ClassVar[list[str]] = []
    counting: ClassVar[list[str]] = []  # what `stock` has begun to count
    counted: ClassVar[asyncio.Event | None] = None  # `stock` waits for it; None: it does not wait


async def price(item: str) -> str:
    """Return the price of a thing."""
    return f"{item} costs 3 euros"


async def order(item: str) -> str:
    """Order a thing."""
    Ledger.ordered.append(item)
    return f"{item} is ordered"


async def stock(item: str) -> str:
    """Count how many of a thing are there, which takes a while; a file lists the counts if the environment names it."""
    Ledger.counting.append(item)
    if file := os.environ.get("SHOP_COUNTS"):
        counts = Path(file)
        counts.write_text(f"{counts.read_text() if counts.exists() else ''}{item}\n")
        while (counts.parent / "slow").exists():
            await asyncio.sleep(0.05)
    if Ledger.counted is not None:
        await Ledger.counted.wait()
    return f"there are 7 of {item}"
