#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hostrace view`: its server, and its page in headless Chromium (view.py), as TAP.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HOSTRACE=$(realpath "${HOSTRACE:-$root/build/hostrace}")
export HOSTRACE TZ=UTC LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
for tool in chromium python3; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
exec python3 "$root/tests/page/view.py"
