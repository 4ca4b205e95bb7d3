#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that reads traces builds, links and runs where there is no libbpf (make LIVE=0).
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}/read-only

if make --no-print-directory -j2 LIVE=0 BUILD="$build" "$build/hostrace" >&2; then
	echo "ok 1 - LIVE=0 builds"
else
	echo "not ok 1 - LIVE=0 does not build"
fi
if ldd "$build/hostrace" | grep libbpf; then
	echo "not ok 2 - it links against libbpf"
elif [ -x "$build/hostrace" ]; then
	echo "ok 2 - no libbpf in it"
fi
if "$build/hostrace" --version >&2; then
	echo "ok 3 - it runs"
else
	echo "not ok 3 - it does not run"
fi
echo "1..3"
