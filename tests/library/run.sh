#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libhostrace as a program of others has it, installed and found by pkg-config: the examples run, every event and field is
# what `hostrace list` shows (compare.py), errors are reported, and nothing else is exported or linked.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
top=$(dirname "$tests")
hostrace=$(realpath "${HOSTRACE:-$top/build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 PKG_CONFIG_PATH=$work/lib/pkgconfig LD_LIBRARY_PATH=$work/lib
cd "$tests" || exit 1
. ./tap.inc

check() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$work/out" 2>&1
	result "$name" $? "$work/out"
}

install() {
	make --no-print-directory -C "$top" install PREFIX="$work" BUILD="${BUILD:-build}"
}

compile() { # PROGRAM OPTION...
	local program=$work/$1
	shift
	# shellcheck disable=SC2086 # "ccache gcc"
	${CC:-cc} -std=c11 -Wall -Wextra -Werror -o "$program" "$top/examples/library/${source:-events.c}" "$@"
}

shared() {
	# shellcheck disable=SC2046
	compile events $(pkg-config --cflags --libs libhostrace)
}

# With the static library itself, and the other libraries as the system has them.
static() {
	local libs
	libs=$(pkg-config --static --libs libhostrace) &&
		compile events.static $(pkg-config --cflags libhostrace) "$work/lib/libhostrace.a" ${libs//-lhostrace/} &&
		! ldd "$work/events.static" | grep libhostrace
}

prints_events() { # PROGRAM
	"$work/$1" golden/v1.4-columns.hrt >"$work/events.txt" && cat "$work/events.txt" &&
		[ "$(wc -l <"$work/events.txt")" = "$("$hostrace" list golden/v1.4-columns.hrt -f jsonl | grep -c '"time_ns"')" ] &&
		grep -q '^[0-9]* host cpu 0 .* kvm_exit .*reason=[A-Za-z]' "$work/events.txt"
}

# As the command, with the module that is installed; a recording without kvm_exit has exits to the VMM, or a reason.
counts_exits() {
	"$top/examples/library/exits.py" golden/v1.4-columns.hrt 2>"$work/err" | awk '{ print $1, $4 }' >"$work/counts" &&
		diff "$work/counts" <("$hostrace" exits golden/v1.4-columns.hrt -f json | jq -r '.rows[] | "\(.count) \(.reason)"')
}

counts_none() {
	! "$top/examples/library/exits.py" cases/sched/trace.txt >"$work/out.txt" 2>"$work/err" && [ ! -s "$work/out.txt" ] &&
		cat "$work/err" && grep -q kvm_exit "$work/err"
}

same() { # FILE
	"$hostrace" list -q "$1" -f jsonl | "$here/compare.py" "$1"
}

same_with_guest() {
	"$hostrace" list -q "$1" --guest "$2" -f jsonl | "$here/compare.py" "$1" "$2"
}

# Neither the notes of a command nor its errors are printed: the line is the test's.
same_reports() {
	HOSTRACE=$hostrace "$here/reports.py" >"$work/reports" 2>&1 && cat "$work/reports" && [ "$(wc -l <"$work/reports")" = 1 ]
}

report_example() {
	# shellcheck disable=SC2046
	source=report.c compile report $(pkg-config --cflags --libs libhostrace) &&
		"$work/report" golden/v1.4-columns.hrt exits --by vcpu >"$work/rows" && grep -q ' vcpu=[0-9].* count=[0-9]' "$work/rows" &&
		! "$work/report" golden/v1.4-columns.hrt exits --by 2>"$work/err" && grep -q -- '--by' "$work/err"
}

# Of reports whose commands keep much: trees, pictures, SQLite, several passes.
clean_memory() {
	local run
	while read -r run; do
		# shellcheck disable=SC2086
		valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$work/report" $run >/dev/null || return
	done <<-END
		golden/v1.4-columns.hrt exits --by vcpu
		cases/blame-causes/trace.txt blame
		cases/blame-causes/trace.txt diagnose
		cases/sched/trace.txt sched --by task
		cases/export/trace.txt sql SELECT/**/count(*)/**/FROM/**/exits
		cases/export/trace.txt info
	END
}

# What record --guest saved beside the recording is merged.
companion() {
	{
		echo "# hostrace text 1"
		printf '# meta {"guests":[{"file":"vm.guest","kind":"guest-stream","bytes":%d,"units":1,"damaged":0,"error":""}]}\n' \
			"$(stat -c %s cases/guest-beside/vm.guest)"
		cat cases/guest-beside/host.txt
	} >"$work/vm.hrt"
	cp cases/guest-beside/vm.guest "$work/" && same "$work/vm.hrt" && "$work/events" "$work/vm.hrt" | grep ' guest cpu ' &&
		rm "$work/vm.guest" && ! "$work/events" "$work/vm.hrt" | grep ' guest cpu '
}

reports() { # FILE PATTERN
	! "$work/events" "$1" >/dev/null 2>"$work/err" && cat "$work/err" && grep -q "$2" "$work/err"
}

exports_only_its_own() {
	[ -s "$work/lib/libhostrace.so.0" ] && [ -s "$work/lib/libhostrace.a" ] &&
		! nm -D --defined-only "$work/lib/libhostrace.so.0" | awk '$2 != "A" { print $3 }' | grep -v '^hostrace_' &&
		! nm --defined-only -g "$work/lib/libhostrace.a" | awk 'NF == 3 { print $3 }' | grep -v '^hostrace_'
}

# Every function of the header is exported, and nothing that the header has not.
header_agrees() {
	diff <(grep -v '^ \*' "$work/include/hostrace.h" | grep -o 'hostrace_[a-z_]*(' | tr -d '(' | sort -u) \
		<(nm -D --defined-only "$work/lib/libhostrace.so.0" | sed -n 's/.* T \(hostrace_[a-z_]*\).*/\1/p' | sort)
}

links_only() {
	[ -s "$work/lib/libhostrace.so.0" ] && readelf -dW "$work/lib/libhostrace.so.0" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -vE '^(libjansson|libzstd|libelf|libdw|libtraceevent|libprotobuf-c|libpcap|libseccomp|libsqlite3|libz|libm|libc|ld-linux-x86-64)\.so' | (! grep .)
}

if [ "$(uname -m)" != x86_64 ]; then
	echo "1..0 # SKIP the names of system libraries are those of x86-64"
	exit
fi
check "make install" install
check "the C example is compiled with pkg-config" shared
check "it prints every event" prints_events events
check "the C example is linked to the static library" static
check "it prints every event, too" prints_events events.static
check "only hostrace_* is exported" exports_only_its_own
check "the header has all that is exported" header_agrees
check "its SONAME is libhostrace.so.0" grep -q 'SONAME.*\[libhostrace.so.0\]' <(readelf -dW "$work/lib/libhostrace.so.0")
check "it is linked to libraries of readers and reports only, not to libbpf" links_only
check "the C example prints a report's rows" report_example
if command -v valgrind >/dev/null; then
	check "valgrind finds no error in reports" clean_memory
else
	skip "valgrind is not installed"
fi
check "a missing file is an error" reports "$work/nothing" 'nothing: No such file or directory'
check "an unknown format is an error" reports "$top/LICENSE" 'LICENSE: unrecognized trace format'
if command -v python3 >/dev/null; then
	PYTHONPATH=$(dirname "$(find "$work/lib" -type d -name hostrace)")
	export PYTHONPATH
	check "the Python example counts exits" counts_exits
	check "without exits it says why, and fails" counts_none
	check "the Python module agrees with the command; the recipes of doc/python.md" env HOSTRACE="$hostrace" "$here/module.py"
	check "reports as Arrow's C streams" "$here/arrow.py" cases/exits/trace.txt cases/blame-causes/trace.txt cases/export/trace.txt
	for f in cases/export/trace.txt golden/v1.4-columns.hrt cases/guest-stream/small.guest cases/sync-osv/tracefile \
		cases/exits-lost/trace.txt cases/osv-zero-time/zero_time.tracefile oracles/exits.dat oracles/exits.data; do
		check "events of $f" same "$f"
	done
	check "rows of every report, twice, errors of options, and nothing is printed" same_reports
	check "the saved guest trace is merged" companion
	check "events of host and guest together" same_with_guest cases/requests/host.txt cases/requests/guest.trace
else
	skip "python3 is not installed"
fi
results_end
