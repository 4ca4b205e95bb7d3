#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without libbpf and libreadline (make LIVE=0 READLINE=0), the program builds, links and runs. Sources that do not mention
# HOSTRACE_LIVE or HOSTRACE_READLINE have the same objects with and without: those are taken from $BUILD, so that only the
# others are compiled.
set -u
cd "$(dirname "$0")/../.." || exit 1
from=${BUILD:-build}
build=$from/read-only
make=(make --no-print-directory LIVE=0 READLINE=0 BUILD="$build")

# Those objects and the generated files, in the order in which they are made: each copy is newer than its sources.
objects_kept() {
	local live
	mapfile -t live < <(grep -rlE 'HOSTRACE_(LIVE|READLINE)' src)
	cd "$from" || return
	printf '%s\n' *.pb-c.h *_js.h *.pb-c.c *.pb-c.o
	find src -name '*.d' -exec grep -LF "${live[@]/#/-e}" {} + | sed 's/d$/o/'
}

rm -rf "$build"
"${make[@]}" "$build/flags" >&2
(objects_kept | tar -C "$from" -cT -) | tar -C "$build" -xm
if "${make[@]}" "$build/hostrace" >&2; then
	echo "ok 1 - LIVE=0 builds"
else
	echo "not ok 1 - LIVE=0 does not build"
fi
if ldd "$build/hostrace" | grep -E 'libbpf|libreadline'; then
	echo "not ok 2 - the program is linked to libbpf or libreadline"
elif [ -x "$build/hostrace" ]; then
	echo "ok 2 - the program is not linked to libbpf, nor to libreadline"
fi
if "$build/hostrace" --version >&2; then
	echo "ok 3 - the program runs"
else
	echo "not ok 3 - the program does not run"
fi
if answers=$(HOSTRACE=$build/hostrace tests/sql/prompt.py tests/cases/exits/trace.txt 2>&1); then
	echo "ok 4 - the prompt of sql answers without libreadline"
else
	echo "not ok 4 - the prompt of sql does not work without libreadline"
	echo "# ${answers//$'\n'/$'\n'# }"
fi
echo "1..4"
