#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page of `hostrace report` in headless Chromium (page.py). Needs Chromium and Python, without further modules.
#
#   tests/page/run.sh              the recordings listed below, as TAP
#   tests/page/run.sh FILE...      these
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HOSTRACE=$(realpath "${HOSTRACE:-$root/build/hostrace}")
export HOSTRACE TZ=UTC LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
for tool in chromium python3; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
[ $# -gt 0 ] || set -- "$root"/tests/page/hostile.txt "$root"/tests/golden/v1.4-zstd.hrt
exec python3 "$root/tests/page/page.py" "$@"
