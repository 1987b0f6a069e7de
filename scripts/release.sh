#!/usr/bin/env bash
# Builds the wheel and the source of this version into dist/, checks both, and tries the wheel in two fresh
# environments: without extras, and with all. EXTRAS=baselines,cluster takes others than all.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'release: %s\n' "$*"; }
die() { printf 'release: %s\n' "$*" >&2; exit 1; }

python=$PWD/.venv/bin/python
[ -x "$python" ] || python=${PYTHON:-python3}
lock=$PWD/requirements.lock
version=$("$python" -c 'import cfo_bench; print(cfo_bench.__version__)')
grep -q "^## \[$version\] - 20" CHANGELOG.md || die "CHANGELOG.md has no heading '## [$version] - DATE': write the notes first"
[ -z "${TAG:-}" ] || [ "$TAG" = "v$version" ] || die "the tag is $TAG and the version $version: they have to agree"

rm -rf dist
say "building cfo-bench $version"
"$python" -m build --no-isolation --outdir dist . >/dev/null
"$python" -m twine check --strict dist/*

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# try NAME EXTRAS SUITE-OPTIONS…: the wheel away from the checkout, in an environment of its own.
try() {
    local name=$1 extras=$2 venv="$work/$1"
    shift 2
    say "the wheel $name: installing"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$lock" \
        "$(echo dist/*.whl)$extras" 2> >(grep -v '^ *WARNING' >&2)
    "$venv/bin/python" -m pip check >/dev/null
    (
        cd "$work"
        [ "$("$venv/bin/cfo-bench" --version)" = "cfo-bench, version $version" ]
        "$venv/bin/cfo-bench" run smoke --results "$name-results" --folds 0 --max-trials 5 --budget 60 -q "$@"
        "$venv/bin/cfo-bench" report "$name-results" >report.log 2>&1 || { cat report.log >&2; exit 1; }
        [ -s "$name-results/report/index.html" ]
        "$venv/bin/python" - <<'CHECK'
from pathlib import Path
from cfo_bench.suite.file import shipped

for name, path in shipped().items():
    schema = path.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
    assert (path.parent / schema).is_file(), f"{name}: no schema at {schema}"
CHECK
    )
    say "the wheel $name: works"
}

try plain "" --method cfo --method rs
try full "[${EXTRAS:-all}]"
say "done: $(cd dist && echo *)"
