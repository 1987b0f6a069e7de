#!/usr/bin/env bash
# Writes requirements.lock from a clean environment with every extra. The present pins are kept where
# pyproject.toml still allows them; UPGRADE=1 lets them all go.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keep=(--constraint requirements.lock)
[ -f requirements.lock ] && [ -z "${UPGRADE:-}" ] || keep=()

"${PYTHON:-python3.11}" -m venv "$work/venv"
echo "lock: installing every extra into a clean environment (several minutes)"
"$work/venv/bin/python" -m pip install --disable-pip-version-check -qq "${keep[@]}" ".[all,dev,docs]"
"$work/venv/bin/python" -m pip check

{
    echo "# The whole tree of .[all,dev,docs]: written by \`make lock\` on Python 3.11, never by hand."
    echo "# Every pin but torch was installed on 3.12 and 3.13 too. Pins that only 3.11 needs do no harm there."
    # A local CPU build of torch calls itself 2.13.0+cpu; the plain version is found everywhere.
    "$work/venv/bin/python" -m pip freeze --all --exclude pip --exclude cfo-bench | sed 's/+cpu$//'
} > "$work/requirements.lock"
mv "$work/requirements.lock" requirements.lock
echo "lock: $(grep -c == requirements.lock) packages in requirements.lock"
