#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without libbpf (make LIVE=0), the program builds, links and runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}/read-only

if make --no-print-directory -j2 LIVE=0 BUILD="$build" "$build/hostrace" >&2; then
	echo "ok 1 - LIVE=0 builds"
else
	echo "not ok 1 - LIVE=0 does not build"
fi
if ldd "$build/hostrace" | grep libbpf; then
	echo "not ok 2 - the program is linked to libbpf"
elif [ -x "$build/hostrace" ]; then
	echo "ok 2 - the program is not linked to libbpf"
fi
if "$build/hostrace" --version >&2; then
	echo "ok 3 - the program runs"
else
	echo "not ok 3 - the program does not run"
fi
echo "1..3"
