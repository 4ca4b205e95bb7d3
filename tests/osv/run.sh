#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares hostrace with recorded outputs of OSv's own scripts/trace.py, as TAP: with --compat standard output must be
# the same byte for byte and the exit status 0 or not alike; without it, exactly the outputs that the table in
# doc/osv-differences.md lists must differ. A table that lists too many or too few fails.
#
#   tests/osv/run.sh [NAME...]    names as edge/mem.0; default: all, and the tables
#
# original.tar.xz has a command (NAME.cmd), its standard output, exit status and, if it failed, the last line of its
# error message:
#
#   small/   a trace of 2,000 samples on 4 CPUs made by a generator, as a tracefile and as a dump of OSv's REST server
#   edge/    traces with one unusual thing each
#   real/    a trace of OSv running under QEMU, saved through gdb
#   sym/     loader.elf: functions for the addresses of small/ and edge/
#
# They were made with the unmodified trace.py of OSv commit 0e34e4dc, Python 3.11, dpkt and tcpdump, TZ=UTC,
# LC_ALL=C.UTF-8, in the trace's folder. HOSTRACE is the program (default build/hostrace).
# shellcheck source-path=SCRIPTDIR
set -u
here=$(cd "$(dirname "$0")" && pwd)
tables=$here/../../doc/osv-differences.md
hostrace=$(realpath "${HOSTRACE:-$here/../../build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TZ=UTC LC_ALL=C.UTF-8 PATH="$work/bin:$PATH"
unset COLUMNS
. "$here/../tap.inc"

# The names in the last column of the table below heading "## $1", one a line; ranges as "edge/mem.0-4" are expanded.
listed() {
	awk -F ' *[|] *' -v heading="## $1" '
	/^## / { inside = $0 == heading }
	inside && /^[|] / && $(NF - 1) ~ /`/ {
		rows = split($(NF - 1), name, / *, */)
		for (i = 1; i <= rows; i++) {
			gsub(/`/, "", name[i])
			if (match(name[i], /[0-9]+-[0-9]+$/)) {
				split(substr(name[i], RSTART), edge, "-")
				for (j = edge[1]; j <= edge[2]; j++)
					print substr(name[i], 1, RSTART - 1) j
			} else {
				print name[i]
			}
		}
	}' "$tables" | LC_ALL=C sort
}

# Runs command NAME with an option; the difference is in $work/diff. Status 0: the same output and kind of status.
same_output() { # NAME [--compat]
	local status command
	command=$(sed "s/^trace.py [a-z-]*/&${2:+ $2}/; s/^trace.py/hostrace/" "$work/$1.cmd")
	(cd "$work/${1%/*}" && timeout -k 5 60 sh -c "$command" >"$work/out" 2>"$work/err" </dev/null)
	status=$?
	diff -a -u --label "trace.py: $(cat "$work/$1.cmd")" --label "hostrace${2:+ $2}" "$work/$1.out" "$work/out" >"$work/diff"
	[ $((status != 0)) = "$(cat "$work/$1.rc")" ] ||
		echo "status $status, trace.py: $(cat "$work/$1.rc")" | cat - "$work/err" >>"$work/diff"
	[ ! -s "$work/diff" ]
}

# Does NAME differ if and only if the file lists it?
try() { # NAME FILE [--compat]
	local name=$1 expected=$2
	shift 2
	if same_output "$name" "$@"; then
		grep -qxF "$name" "$expected" || return 0
		echo "listed in osv-differences.md, but the output is the same" >"$work/diff"
		return 1
	fi
	grep -qxF "$name" "$expected"
}

mkdir "$work/bin"
ln -s "$hostrace" "$work/bin/hostrace"
tar -xJf "$here/original.tar.xz" -C "$work" || exit 1
listed "With and without --compat" >"$work/compat"
listed "Without --compat" >"$work/plain"
(cd "$work" && find . -name '*.cmd') | sed 's/^\.\///; s/\.cmd$//' | LC_ALL=C sort >"$work/names"
names=("$@")
[ $# -gt 0 ] || mapfile -t names <"$work/names"

for name in "${names[@]}"; do
	try "$name" "$work/compat" --compat
	result "$name: --compat" $? "$work/diff"
	try "$name" "$work/plain"
	result "$name" $? "$work/diff"
done
if [ $# = 0 ]; then
	{
		uniq -d "$work/plain"
		LC_ALL=C sort -u "$work/plain" "$work/compat" | LC_ALL=C comm -13 "$work/names" -
	} >"$work/wrong"
	[ -s "$work/plain" ] && [ ! -s "$work/wrong" ]
	result "osv-differences.md: lists each output once, and no unknown one" $? "$work/wrong"
fi
results_end
