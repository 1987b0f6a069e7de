"""What stands in a page of Markdown: blocks of code, commands and links."""

from __future__ import annotations

import re
import shlex
import unicodedata
from string import Template

# Languages of blocks that show what is typed into a shell.
SHELLS = ("", "console", "bash")


def blocks(text: str, language: str) -> list[str]:
    """The blocks of code in a language; "" for those that name none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for name, body in found if name == language]


def commands(text: str) -> list[list[str]]:
    """Every `cfo-bench …` line of the blocks, without a prompt, continued lines joined, up to a pipe.

    Variables have the values that lines such as `NAME="…"` give them.
    """
    shown = "\n".join(block for language in SHELLS for block in blocks(text, language))
    lines = [line.removeprefix("$ ") for line in shown.replace("\\\n", " ").splitlines()]
    values = dict(re.findall(r'^([A-Z]+)="(.*)"$', shown, re.MULTILINE))
    found = []
    for line in lines:
        if line.startswith("cfo-bench "):
            words = shlex.split(Template(line).safe_substitute(values), comments=True)[1:]
            end = next((at for at, word in enumerate(words) if word in ("|", ">", "&&")), len(words))
            found.append(words[:end])
    return found


def links(text: str) -> list[str]:
    """The targets of links and pictures, apart from those on the web and those inside of code."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'<img src="([^"]+)"', prose)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(text: str) -> set[str]:
    """The headings of a page as links name them, on the site and in a repository's browser."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return {_slug(heading) for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)}


def _slug(heading: str) -> str:
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
