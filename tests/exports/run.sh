#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What other tools read of our exports is every event of the trace, with its time and all fields (events.py).
set -u
here=$(cd "$(dirname "$0")" && pwd)
protos=$(realpath "$here/../../src/output")
tests=$(dirname "$here")
hostrace=$(realpath "${HOSTRACE:-$here/../../build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 TZ=UTC PYTHONDONTWRITEBYTECODE=1
cd "$tests" || exit 1
. ./tap.inc

# Hosts' and guests' traces, OSv's, long and short texts, fields of all widths, backtraces, losses.
inputs=(cases/export/trace.txt golden/v1.4-columns.hrt golden/v1.txt cases/guest-stream/small.guest cases/sync-osv/tracefile
	cases/osv-zero-time/zero_time.tracefile cases/blame-holder/trace.txt oracles/exits.dat oracles/exits.data)

have() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null && return
	skip "$1 is not installed (package $2)"
	return 1
}

ctf() { # FILE
	rm -rf "$work/ctf"
	"$hostrace" export -q text "$1" -o "$work/text" && "$hostrace" export -q ctf "$1" -o "$work/ctf" &&
		timeout 200 babeltrace2 --clock-cycles "$work/ctf" >"$work/read" &&
		timeout 200 "$here/events.py" ctf "$work/text" "$work/read"
}

tracedat() { # FILE
	"$hostrace" export -q text "$1" -o "$work/text" && "$hostrace" export -q trace.dat "$1" -o "$work/dat" &&
		timeout 200 trace-cmd report -R -t -i "$work/dat" >"$work/read" &&
		timeout 200 "$here/events.py" tracedat "$work/text" "$work/read"
}

# protoc, another reader of protocol buffers, with Perfetto's fields as perfetto.proto has them.
perfetto() { # OPTION...
	"$hostrace" timeline -q "$@" -f perfetto -o "$work/pftrace" && "$hostrace" timeline -q "$@" -f json -o "$work/json" &&
		protoc -I "$protos" --decode=perfetto.protos.Trace "$protos/perfetto.proto" <"$work/pftrace" >"$work/read" &&
		timeout 200 "$here/perfetto.py" "$work/read" "$work/json"
}

# SQLite runs the documented queries on what protoc reads.
perfetto_sql() { # OPTION...
	perfetto "$@" && timeout 200 "$here/perfetto_sql.py" ../doc/perfetto-sql.md "$work/read" "$work/json"
}

cells() { # FILE
	"$hostrace" export -q csv "$1" -o "$work/csv" && "$hostrace" export -q json "$1" -o "$work/json" &&
		"$here/cells.py" "$work/csv" "$work/json"
}

# Trace events of Chrome's format are the rows: times, names, and tracks as threads of processes.
chrome() { # OPTION...
	"$hostrace" timeline -q "$@" -f chrome -o "$work/chrome" && "$hostrace" timeline -q "$@" -f json -o "$work/json" &&
		"$here/chrome.py" "$work/chrome" "$work/json"
}

# The plugin of trace-cmd knows the exit reasons; losses are between the events where they were.
tracedat_plugins() {
	"$hostrace" export -q trace.dat cases/exits-lost/trace.txt -o "$work/dat" &&
		trace-cmd report -i "$work/dat" >"$work/read" && cat "$work/read" && grep -q 'kvm_exit: .*reason' "$work/read" &&
		grep -q 'EVENTS DROPPED' "$work/read"
}

# Import has every exit, and its reports are the same.
tracedat_import() {
	"$hostrace" export -q trace.dat golden/v1.4-columns.hrt -o "$work/dat" &&
		diff <("$hostrace" exits -q -i golden/v1.4-columns.hrt -f csv) <("$hostrace" exits -q -i "$work/dat" -f csv)
}

# The option that names the clock is a string that ends: trace-cmd 3.1 reads on until it finds a 0. It is beside the
# table of CPUs, where old versions look.
tracedat_clock() {
	"$hostrace" export -q trace.dat cases/exits-lost/trace.txt -o "$work/dat" &&
		[ "$(tr '\0' '\n' <"$work/dat" | grep -a -c '^local \[mono\]$')" = 2 ]
}

tracedat_refuses() {
	local guest=$1
	! "$hostrace" export trace.dat -i "$2" --guest "$guest" --clock 0 -o "$work/two" && [ ! -e "$work/two" ]
}

# The number of lost events, and the wall clock of a recording that knows it.
ctf_losses() {
	"$hostrace" export -q ctf cases/export/trace.txt -o "$work/ctf" && babeltrace2 "$work/ctf" 2>&1 | grep 'discarded 12 events'
}

ctf_refuses() {
	mkdir "$work/full" && touch "$work/full/photo" && ! "$hostrace" export ctf cases/export/trace.txt -o "$work/full" &&
		[ "$(ls "$work/full")" = photo ]
}

ctf_fails_clean() {
	! "$hostrace" export ctf "$work/nothing" -o "$work/new" && [ -z "$(ls "$work/new")" ]
}

# The profile, decoded by protoc, has the stacks of -f folded.
pprof() { # UNIT COMMAND...
	local unit=$1
	shift
	"$hostrace" "$@" -q -f folded -o "$work/folded" && "$hostrace" "$@" -q -f pprof -o "$work/pprof" &&
		protoc -I "$protos" --decode=perftools.profiles.Profile "$protos/profile.proto" <"$work/pprof" >"$work/read" &&
		"$here/pprof.py" "$work/folded" "$unit" <"$work/read"
}

# tshark's frames: time, comment, direction, protocol.
pcapng() { # OPTION...
	"$hostrace" pcap-dump -q -f pcapng "$@" -o "$work/pcapng" && capinfos "$work/pcapng" >"$work/read" && cat "$work/read" &&
		grep -q '^Number of packets: *3$' "$work/read" && grep -q 'Time precision = nanoseconds' "$work/read" &&
		tshark -r "$work/pcapng" -T fields -e frame.time_epoch -e frame.comment -e frame.packet_flags_direction \
			-e _ws.col.Protocol >"$work/frames" 2>/dev/null && cat "$work/frames"
}

# Of an OSv guest alone: its own clock; the packets of the pcap file.
pcapng_guest() {
	local trace=cases/osv-packets/proto.tracefile
	pcapng "$trace" && diff "$work/frames" - <<-'END' && "$hostrace" pcap-dump -q "$trace" -o "$work/pcap" &&
		1.500000999	guest 1500000999 ns, CPU 0, thread thrA	0x00000001	TCP
		2.999999600	guest 2999999600 ns, CPU 0, thread thrA	0x00000001	ARP
		3.000000000	guest 3000000000 ns, CPU 0, thread thrA	0x00000001	IPv6
	END
		diff <(tshark -r "$work/pcapng" -x 2>/dev/null) <(tshark -r "$work/pcap" -x 2>/dev/null)
}

# With its host: the wall clock; CLOCK_MONOTONIC as `list` has it, and the guest's own time, in the comment.
pcapng_both() {
	local both=(-i exports/packets-host.txt --guest cases/osv-packets/proto.tracefile --clock=-4000000000)
	pcapng "${both[@]}" && diff "$work/frames" - <<-'END' &&
		1700000000.500000999	host 100500000999 ns, guest 1500000999 ns, CPU 0	0x00000001	TCP
		1700000001.999999600	host 101999999600 ns, guest 2999999600 ns, CPU 0	0x00000001	ARP
		1700000002.000000000	host 102000000000 ns, guest 3000000000 ns, CPU 0	0x00000001	IPv6
	END
		diff <("$hostrace" list -q "${both[@]}" --event 'osv:*' --columns time_ns -f csv | grep -v time) \
			<(grep -o 'host [0-9]*' "$work/frames" | cut -d ' ' -f 2)
}

if have babeltrace2 babeltrace2; then
	for f in "${inputs[@]}"; do
		ctf "$f" >"$work/out" 2>&1
		result "babeltrace2 reads $f" $? "$work/out"
	done
	ctf_losses >"$work/out" 2>&1
	result "babeltrace2 prints the number of lost events" $? "$work/out"
fi
if have trace-cmd trace-cmd; then
	for f in "${inputs[@]}"; do
		case $f in *.guest | */tracefile | *zero_time*) continue ;; esac # times are ticks, or begin before the first second
		tracedat "$f" >"$work/out" 2>&1
		result "trace-cmd reads $f" $? "$work/out"
	done
	tracedat_plugins >"$work/out" 2>&1
	result "trace-cmd prints exit reasons and losses" $? "$work/out"
fi
if have protoc protobuf-compiler; then
	pprof count profile --host -i cases/profile-host/clock.txt --symbols cases/profile-host/kallsyms >"$work/out" 2>&1
	result "protoc reads a profile of guest code" $? "$work/out"
	pprof count prof -i cases/profile-linux/guest.txt >"$work/out" 2>&1
	result "protoc reads a profile of backtraces" $? "$work/out"
	pprof nanoseconds prof-wait -i cases/profile-linux/guest.txt >"$work/out" 2>&1
	result "protoc reads a profile of times" $? "$work/out"
	pprof count prof-flame cases/profile-linux/guest.txt >"$work/out" 2>&1
	result "protoc reads the stacks of prof-flame" $? "$work/out"
	pprof nanoseconds blame -i cases/blame-holder/trace.txt >"$work/out" 2>&1
	result "protoc reads the causes of slow exits" $? "$work/out"
	for f in cases/timeline/trace.txt golden/v1.4-columns.hrt page/hostile.txt; do
		perfetto -i "$f" >"$work/out" 2>&1
		result "protoc reads the slices of timeline -f perfetto of $f" $? "$work/out"
	done
	perfetto -i cases/requests/host.txt --guest cases/requests/guest.trace >"$work/out" 2>&1
	result "protoc reads those of host and guest together" $? "$work/out"
	perfetto_sql -i ../doc/tutorial/slow.hrt --since 87s --period 500ms >"$work/out" 2>&1
	result "the queries of doc/perfetto-sql.md run with SQLite" $? "$work/out"
fi
for f in cases/export/trace.txt golden/v1.4-columns.hrt cases/guest-stream/small.guest oracles/exits.dat page/hostile.txt; do
	cells "$f" >"$work/out" 2>&1
	result "Python's csv reads every field of $f" $? "$work/out"
done
for f in cases/timeline/trace.txt golden/v1.4-columns.hrt page/hostile.txt; do
	chrome -i "$f" >"$work/out" 2>&1
	result "timeline -f chrome of $f has the rows of -f json" $? "$work/out"
done
if have tshark tshark && have capinfos wireshark-common; then
	pcapng_guest >"$work/out" 2>&1
	result "tshark reads the packets of an OSv guest" $? "$work/out"
	pcapng_both >"$work/out" 2>&1
	result "tshark reads them with the times of host and guest" $? "$work/out"
fi
tracedat_import >"$work/out" 2>&1
result "exits are the same after an export to trace.dat" $? "$work/out"
tracedat_clock >"$work/out" 2>&1
result "the option of trace.dat that names the clock is a string" $? "$work/out"
tracedat_refuses cases/guest-stream/small.guest cases/export/trace.txt >"$work/out" 2>&1
result "events of two machines are not written to one trace.dat" $? "$work/out"
ctf_refuses >"$work/out" 2>&1
result "a directory with other files is not written to" $? "$work/out"
ctf_fails_clean >"$work/out" 2>&1
result "a failed export leaves no files" $? "$work/out"
results_end
