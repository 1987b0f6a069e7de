"""Text for the page."""

from __future__ import annotations

import re
from html import escape


def prose(text: str) -> str:
    """Escaped, with no line break between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(%|s|MB)(?!\w))", "\u00a0", escape(text))
