"""Text for the page."""

from __future__ import annotations

import re
from html import escape


def prose(text: str) -> str:
    """Escaped, with words between backticks as code, and no line break between a number and its unit."""
    whole = re.sub(r"(?<=\d) (?=(%|s|MB)(?!\w))", "\u00a0", escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", whole)
