#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A long run: four VMs that write to a port as fast as they can, three recorders that must not grow.
#
#   tests/soak/soak.sh MINUTES    prints TAP; needs $HOSTRACE and $BUILD. SOAK_KEEP=DIR gets the samples and messages.
#
# plain	records all VMs into one file
# ring	records all VMs as a flight recorder; its buffer is written to a file once a minute
# command	records what a command starts: a fifth VM that crashes every 10 s and is started again
#
# Once a minute one of the VMs is paused for a second, then the plain recorder is stopped for three: it loses events,
# which it must count. Only VMs of this test are recorded, so that those of others do not change the figures.
#
# Verdict, of samples every 5 s after a warm-up of a fifth of the time (at least 30 s): the slope of a line through them
# (least squares) times the rest of the time is the growth. The tolerances are at the calls of judge().
set -u
minutes=${1:-30}
. "$(dirname "$0")/../live/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

SAMPLE_S=5
VMS="soak1 soak2 soak3 soak4"
RECORDERS="plain ring command"
RING_BYTES=$((1 << 20))

# ---- recorders ----

declare -A waiter recorder

# recorder_start NAME ARGS...: in a directory of its own
recorder_start() {
	local name=$1
	shift
	mkdir -p "$name"
	(cd "$name" && exec timeout -s KILL $((minutes * 60 + 600)) "$HOSTRACE" record -o out.hrt "$@" 2>err) &
	waiter[$name]=$!
	until_line 'recording' "$name/err" || bail "$name did not start: $(cat "$name/err")"
	recorder[$name]=$(pgrep -P "${waiter[$name]}" | head -n 1)
}

# What supervises the fifth VM.
supervise() {
	cd ..
	while [ ! -e enough ]; do
		guest_ram again
		guest_set again GUEST_LIMIT 4000000000
		guest_set again GUEST_GO 1
		(guest_qemu again) 2>/dev/null
	done
}

# ---- samples ----

# sample NAME: "seconds NAME rss_kib anon_kib fds threads bpf_objects bpf_kib cpu_ticks file_kib"
sample() {
	local pid=${recorder[$1]}
	awk -v name="$1" -v seconds=$SECONDS -v fds="$(find "/proc/$pid/fd" -type l | wc -l)" \
		-v file="$(du -k "$1/out.hrt" | cut -f 1)" '
		/^VmRSS:/ { rss = $2 } /^RssAnon:/ { anon = $2 } /^Threads:/ { threads = $2 }
		/^(prog_id|map_id|link_id):/ { objects++ } /^memlock:/ { memlock += $2 }
		FILENAME ~ /stat$/ { cpu = $14 + $15 }
		END { print seconds, name, rss, anon, fds, threads, objects, int(memlock / 1024), cpu, file }' \
		"/proc/$pid/status" "/proc/$pid/stat" "/proc/$pid/fdinfo/"* 2>/dev/null >>samples
}

sample_kernel() {
	awk -v seconds=$SECONDS '/^SUnreclaim:/ { s = $2 } /^VmallocUsed:/ { v = $2 } /^Percpu:/ { p = $2 }
		END { print seconds, s, v, p }' /proc/meminfo >>kernel
}

# growth COLUMN FILE [NAME]: from the end of the warm-up to the end
growth() {
	awk -v x="$1" -v name="${3-}" -v warm="$warm" -v end="$end" '
		name != "" && $2 != name || $1 < warm { next }
		{ n++; sx += $1; sy += $x; sxx += $1 * $1; sxy += $1 * $x }
		END { d = n * sxx - sx * sx; printf "%.0f\n", d ? (n * sxy - sx * sy) / d * (end - warm) : 0 }' "$2"
}

# judge NAME WHAT COLUMN TOLERANCE UNIT
judge() {
	local by
	by=$(growth "$3" samples "$1")
	is $((by <= $4)) 1 "$1: $2 do not grow by more than $4$5 ($by$5 in $((end - warm)) s)" last
}

# ---- the run ----

# id of every BPF program, map and link that the recorders hold
bpf_ids() {
	for name in $RECORDERS; do
		sed -n 's/^\(prog\|map\|link\)_id:[[:space:]]*/\1 /p' "/proc/${recorder[$name]}/fdinfo/"*
	done | sort -u
}

# those of file $1 that there are still
bpf_left() {
	for kind in prog map link; do
		bpftool -j $kind list | jq -r --arg kind $kind '.[] | "\($kind) \(.id)"'
	done | sort >bpf.now
	comm -12 "$1" bpf.now
}

disturb() { # NUMBER-OF-THE-MINUTE
	local vm
	vm=soak$(($1 % 4 + 1))
	qmp $vm stop >/dev/null
	sleep 1
	qmp $vm cont >/dev/null
	kill -s STOP "${recorder[plain]}"
	sleep 3
	kill -s CONT "${recorder[plain]}"
	kill -s USR1 "${recorder[ring]}"
}

# The flight recorder's last dump must be readable; it is not kept.
dump_check() {
	for dump in ring/out-[0-9]*.hrt; do
		[ -f "$dump" ] || continue
		"$HOSTRACE" info -i "$dump" >info.out 2>&1 && dumps=$((dumps + 1))
		rm -f "$dump"
	done
}

live_needs_tools bpftool
trap 'guests_kill; kill "${recorder[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT
plan 32
for name in $VMS; do
	guest_start "$name"
done
recorder_start plain --vm 'soak?' -z
recorder_start ring --vm 'soak?' --ring $RING_BYTES
export -f supervise guest_ram guest_set guest_qemu
export BUILD RAM_BYTES PAGE GUEST_LIMIT GUEST_GO
recorder_start command -- bash -c supervise
SECONDS=0
end=$((minutes * 60))
warm=$((end / 5 < 30 ? 30 : end / 5))
for name in $VMS; do
	guest_set "$name" GUEST_GO 1
done
minute=0 crash=10 crashes=0 dumps=0
while [ $SECONDS -lt $end ]; do
	sleep $SAMPLE_S
	for name in $RECORDERS; do
		sample "$name"
	done
	sample_kernel
	if [ $SECONDS -ge $crash ]; then
		kill -s SEGV "$(cat again/pid)" && crashes=$((crashes + 1))
		crash=$((SECONDS + 10))
	fi
	if [ $((SECONDS / 60)) -gt $minute ]; then
		dump_check
		minute=$((SECONDS / 60))
		disturb $minute
	fi
done
[ -z "${SOAK_KEEP-}" ] || for file in samples kernel */err; do cp "$file" "$SOAK_KEEP/${file//\//.}"; done

bpf_ids >bpf.held
produced=0
for name in $VMS; do # all at once: the flight recorder must still have the last access of the first one
	guest_set "$name" GUEST_STOP 1
done
for name in $VMS; do
	produced=$((produced + $(guest_stop "$name")))
done
: >enough
kill -s KILL "$(cat again/pid)"
kill -s INT "${recorder[plain]}" "${recorder[ring]}"
for name in $RECORDERS; do
	wait "${waiter[$name]}"
	is $? 0 "$name: the recording ends" $name/err
	sed 's/^/# /' $name/err | tail -n 4
done
dump_check

echo "# seconds recorder rss_kib anon_kib fds threads bpf_objects bpf_kib cpu_ticks file_kib"
for name in $RECORDERS; do
	awk -v name=$name -v warm=$warm '$2 == name && $1 >= warm' samples | sed -n '1p;$p' | tee last | sed 's/^/# /'
	judge $name "KiB in memory" 3 4096 " KiB"
	judge $name "KiB of its own" 4 $([ $name = command ] && echo 4096 || echo 2048) " KiB"
	judge $name descriptors 5 $([ $name = command ] && echo 12 || echo 0) ""
	judge $name threads 6 $([ $name = command ] && echo 1 || echo 0) ""
	judge $name "BPF programs, maps and links" 7 $([ $name = command ] && echo 12 || echo 0) ""
	judge $name "KiB of BPF maps" 8 64 " KiB"
done
sed -n '1p;$p' kernel | sed 's/^/# seconds SUnreclaim VmallocUsed Percpu: /'
is $(($(growth 2 kernel) < 65536)) 1 "the kernel's slabs do not grow by more than 64 MiB ($(growth 2 kernel) KiB)" kernel
is "$(bpf_left bpf.held)" "" "no BPF program, map or link is left" bpf.held

"$HOSTRACE" ports --by vm -f csv -i plain/out.hrt >rows.csv 2>ports.err
recorded=$(csv_sum port=$((PORT)) dir=out <rows.csv)
lost=$(lost plain/out.hrt kvm_pio)
echo "# plain: $produced = $recorded recorded + $lost lost; $(du -k plain/out.hrt | cut -f 1) KiB"
is $((recorded + lost)) "$produced" "plain: recorded + lost = done" ports.err
is $((lost < produced / 5)) 1 "... $lost were lost: nothing but while it was stopped"
size=$(stat -c %s ring/out.hrt)
is $((size < RING_BYTES * 9 / 8)) 1 "ring: its file has $size of at most $RING_BYTES bytes"
is "$dumps" "$minute" "... and a dump for each minute" ring/err
for name in $VMS; do
	last=$("$HOSTRACE" list --wide -i ring/out.hrt --vm "$name" --event kvm_pio | sed -n 's/.*val=\([^ ]*\).*/\1/p' | tail -n 1)
	is "$((${last:--1}))" $((($(guest_counts "$name") - 1) % 256)) "... with the last access of $name"
done
is "$("$HOSTRACE" info -f json -i command/out.hrt | jq '.result.vms | length')" $((crashes + 1)) "command: all starts of its VM" \
	command/err
finish
