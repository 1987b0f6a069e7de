#!/usr/bin/env bash
# Makes .venv and installs the pinned tree and this project into it; does nothing when all is in place.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'install: %s\n' "$*"; }
die() { printf 'install: %s\n' "$*" >&2; exit 1; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
# A copied .venv still points at the tree it was made in, and one may outlive its Python.
is_usable() { [ "$(cat .venv/.made-in 2>/dev/null)" = "$PWD" ] && is_new_enough .venv/bin/python; }

stamp=.venv/.installed
state=$(cat pyproject.toml requirements.lock | cksum)
if is_usable && [ "$(cat "$stamp" 2>/dev/null)" = "$state" ]; then
    exit 0
fi

rm -f "$stamp"
if ! is_usable; then
    python=
    for candidate in ${PYTHON:-python3.11 python3}; do
        if is_new_enough "$candidate"; then python=$candidate; break; fi
    done
    [ -n "$python" ] || die "no Python 3.11 or newer among: ${PYTHON:-python3.11 python3}; name one with: make install PYTHON=path/to/python"
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv || { rm -rf .venv; die "$python has no working venv module (on Debian: the package python3-venv)"; }
    pwd > .venv/.made-in
fi

# One package, netifaces of hpbandster, has no wheel: pip builds it.
missing_tools=$(.venv/bin/python -c 'import runpy; print(runpy.run_path("cfo_bench/errors.py")["missing_build_tools"]())')
[ -z "$missing_tools" ] || say "to build the package netifaces, install $missing_tools"

total=$(grep -c '==' requirements.lock)
say "installing $total pinned packages (about 3 minutes the first time)"
pip_install() { .venv/bin/python -m pip install --disable-pip-version-check --no-input --progress-bar off --log .venv/pip.log "$@"; }

# pip names each line of the lock as it comes to it: that is the progress, one line of ours for 20 of its.
progress() {
    awk -v total="$total" '
        /\(from -r/ && ++n % 20 == 0 && n < total { print "install: " n " of " total " found"; fflush() }
        /^Building wheels/ { print "install: building the few that come as source"; fflush() }
        /^Installing collected/ { print "install: unpacking"; fflush() }'
}
# Warnings about the user's own pip settings and about packages' old build files stay in the log.
without_warnings() { grep -vE '^ *(WARNING|DEPRECATION)' || true; }

pip_install -r requirements.lock 2> >(without_warnings >&2) | progress ||
    die "pip could not install requirements.lock: its reason is above, the whole log in .venv/pip.log${missing_tools:+; netifaces needs $missing_tools}"

# The build backend is in the lock too: nothing is resolved or fetched here.
pip_install --quiet --no-deps --no-build-isolation -e . || die "pip could not install this project: its reason is above"
rm -f .venv/pip.log
printf '%s\n' "$state" > "$stamp"
say "done: .venv/bin/cfo-bench"
