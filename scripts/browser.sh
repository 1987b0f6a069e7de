#!/usr/bin/env bash
# Gets Chromium and its driver for the tests of the report's page, where the system's packages may be
# installed (root on Debian); elsewhere those tests are skipped, and say why.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }

if have chromium && have chromedriver; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! have apt-get; then exit 0; fi

echo "browser: installing chromium and chromium-driver for the tests of the report's page"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1; then
    echo "browser: they could not be installed; the tests that need them are skipped" >&2
fi
