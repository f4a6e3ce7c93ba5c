"""The revisions of the schema that this version knows, read off the files of `migrations/versions`."""

from pathlib import Path

VERSIONS = Path(__file__).parent / "migrations" / "versions"

FIRST = "0100"
"""The oldest revision there is; smaller numbers stood in databases of versions that were never released."""

KNOWN = frozenset(path.name.partition("_")[0] for path in VERSIONS.glob("[0-9]*_*.py"))
HEAD = max(KNOWN, default="")
"""The newest: what a new database is made as, and an older one migrated to."""


def refusal(found: str) -> str:
    """Return why this version cannot use a database of revision `found`; empty if it can."""
    if found in KNOWN:
        return ""
    if found < FIRST:
        return (
            f"the database has schema version {found}, which no release had: this version cannot use it; move it away "
            "to start with a new one, or run the tenk-gateway that made it"
        )
    return (
        f"the database has schema version {found}, this version knows up to {HEAD}: run the newer tenk-gateway, or "
        "restore the backup made before it"
    )
