"""Links of the documentation to files of the repository, which a site does not have: their words stay."""

import re

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./){1,2}(?!index|[a-z-]+\.md|decisions/)[^)]+\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the page without links that leave the documentation."""
    return OUTSIDE.sub(r"\1", markdown)
