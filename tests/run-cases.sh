#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the text-trace cases. A case is a folder: its files, `cmd` (shell, run in a copy of the folder with the built
# hostrace first on PATH) and `expect` (what it prints, then "exit N" if the status is not 0).
#
#   tests/run-cases.sh                      all, as TAP
#   tests/run-cases.sh NAME...              some
#   tests/run-cases.sh --update NAME...     writes `expect` from what is printed now; read the diff before committing
#
# HOSTRACE is the program (default build/hostrace). stderr is not compared; a cmd that is about messages says 2>&1.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
hostrace=$(realpath "${HOSTRACE:-$root/build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export TZ=UTC LC_ALL=C PATH="$work/bin:$PATH" TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER
mkdir "$work/bin"
ln -s "$hostrace" "$work/bin/hostrace"
for generator in "$(dirname "$hostrace")"/tests/gen/*; do
	[ -x "$generator" ] && ln -s "$generator" "$work/bin/"
done

# Prints what the case in folder $1 prints.
run_case() {
	local status
	rm -rf "$work/case"
	cp -r "$1" "$work/case"
	rm -f "$work/case/expect"
	(cd "$work/case" && timeout -k 5 60 sh ./cmd 2>"$work/stderr" </dev/null)
	status=$?
	[ $status = 0 ] || echo "exit $status"
}

update=0
if [ "${1:-}" = --update ]; then
	update=1
	shift
	[ $# -gt 0 ] || { echo "run-cases: --update needs names" >&2; exit 2; }
fi
if [ $# -eq 0 ]; then
	for d in "$root"/tests/cases/*/cmd; do
		[ -e "$d" ] && set -- "$@" "$(basename "$(dirname "$d")")"
	done
fi

n=0
failed=0
for name in "$@"; do
	dir=$root/tests/cases/$name
	n=$((n + 1))
	if [ ! -f "$dir/cmd" ]; then
		echo "not ok $n - $name: no such case"
		failed=1
		continue
	fi
	if [ $update = 1 ]; then
		run_case "$dir" >"$work/out"
		cp "$work/out" "$dir/expect"
		echo "ok $n - $name: written"
		continue
	fi
	run_case "$dir" >"$work/out"
	if diff -u --label "$name/expect" --label printed "$dir/expect" "$work/out" >"$work/diff" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$work/diff"
		sed 's/^/# stderr: /' "$work/stderr"
		failed=1
	fi
done
echo "1..$n"
exit $failed
