#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures attaching and detaching, the recorder's own CPU time at a known rate of exits, and what probes in QEMU add to
# a disk request (CPU time of QEMU's main loop, which serves the request). Prints one line of JSON per run.
#   live.sh BUILD WORK ROUNDS REQUESTS
# HOSTRACE_QEMU_USDT is a QEMU with USDT probes, if available (tests/rig/qemu-usdt.sh builds it).
# shellcheck source-path=SCRIPTDIR
set -u -o pipefail
build=$1 work=$2 rounds=$3 requests=$4
root=$(dirname "$0")/../..
qemu=${QEMU:-qemu-system-x86_64}
. "$(dirname "$0")/lib.sh"
vm="" job="" used="" took=""
leave() {
	tracer_end
	[ -n "$vm" ] && kill -KILL "$vm" 2>/dev/null
}
trap leave EXIT
trap 'exit 1' INT TERM

# A guest that reads a sector REQUESTS times and then ends QEMU. QEMU starts stopped; vm_go continues it.
boot_make() {
	local mb=$((requests / 2048 + 1))
	${CC:-gcc} -c -DREADS="$requests" -o "$work/boot.o" "$root/tests/live/record-boot.S" &&
		ld --oformat binary -Ttext 0x7c00 -o "$work/boot.img" "$work/boot.o" && truncate -s "${mb}M" "$work/boot.img"
}

vm_start() { # QEMU
	rm -f "$work/monitor" "$work/qemu.pid"
	mkfifo "$work/monitor"
	"$bench/measure" "$work/qemu" "$1" -accel kvm -m 64 -nodefaults -nographic -display none -S -monitor stdio \
		-drive "file=$work/boot.img,if=none,id=d,format=raw" -device virtio-blk-pci,drive=d,id=disk0 \
		-device isa-debug-exit,iobase=0xf4,iosize=1 -pidfile "$work/qemu.pid" <"$work/monitor" >"$work/measured" \
		2>"$work/qemu.err" &
	job=$!
	exec {monitor}>"$work/monitor"
	for _ in $(seq 1500); do
		grep -qs '(qemu)' "$work/qemu" && vm=$(cat "$work/qemu.pid" 2>/dev/null) && [ -n "$vm" ] && return
		sleep 0.02
	done
	echo "bench: QEMU did not start: $(tail -n 1 "$work/qemu")" >&2
	return 1
}

# Runs the guest to its end; sets $used and $took: ns of CPU time of QEMU's main loop and of wall time for it.
vm_run() {
	local cpu start status
	cpu=$(cut -d ' ' -f 1 "/proc/$vm/schedstat")
	start=$EPOCHREALTIME
	echo cont >&"$monitor"
	wait "$job"
	status=$?
	took=$(awk "BEGIN {printf \"%.0f\n\", ($EPOCHREALTIME - $start) * 1e9}")
	vm=
	exec {monitor}>&-
	used=$(jq ".main_ns - $cpu" "$work/measured")
	[ $status = 33 ] || echo "bench: the guest ended with $status: $(tail -n 1 "$work/qemu")" >&2
	[ $status = 33 ]
}

vm_kill() {
	kill -KILL "$vm"
	wait "$job" 2>/dev/null
	vm=
	exec {monitor}>&-
}

ms_until() { # ms that COMMAND... takes
	local start=$EPOCHREALTIME
	"$@" || return
	awk "BEGIN {printf \"%.1f\n\", ($EPOCHREALTIME - $start) * 1e3}"
}

# Measures attaching all default events to a QEMU, and everything after ^C.
attach_run() { # NAME PID
	local up down
	up=$(ms_until tracer_start_default "$2") || return
	tracer=$(cat "$work/tracer")
	sleep 0.3
	down=$(ms_until tracer_stop hostrace)
	row live what="attach, $1" value="$up" unit=ms goal=1000
	row live what="detach, $1" value="$down" unit=ms goal=500
}

tracer_start_default() { # PID
	rm -f "$work/log"
	"${interruptible[@]}" "$hostrace" record --vm "$1" -o "$work/attach.hrt" >"$work/log" 2>&1 &
	tracer=$!
	echo "$tracer" >"$work/tracer"
	wait_for recording
}

# 100,000 exits a second for three seconds; schedstat has the recorder's time on a CPU.
rate_run() { # EVENTS TOOL MODE GOAL
	local loop_pid loop_in before after start
	rm -f "$work/go"
	mkfifo "$work/go"
	"$bench/vmloop" "$3" 1000 300 10000 <"$work/go" >"$work/loop" &
	loop_pid=$!
	exec {loop_in}>"$work/go"
	tracer_start "$2" "$loop_pid" "$work/rate" "$1" || return
	before=$(cpu_ns "$tracer")
	start=$EPOCHREALTIME
	echo >&"$loop_in"
	sleep 2.5
	after=$(cpu_ns "$tracer")
	row live what="CPU of $2 at 100,000 exits/s" \
		value="$(awk "BEGIN {printf \"%.3f\n\", ($after - $before) / 1e7 / ($EPOCHREALTIME - $start)}")" unit=% goal="$4"
	exec {loop_in}>&-
	wait "$loop_pid"
	tracer_stop "$2"
}

# Measures what a tool adds to a request of the boot sector: QEMU NAME, TOOL, EVENTS.
request_run() { # QEMU MODE TOOL EVENTS
	local events
	vm_start "$1" || return
	case $3 in
	none) ;;
	hostrace*)
		tracer_start hostrace "$vm" "$work/request.hrt" "${4// /,}" || return ;;
	bpftrace)
		bpftrace_requests "$1" "$vm" || {
			absent "$2" bpftrace "it did not start: $(tail -n 1 "$work/log" | cut -c 1-100)"
			tracer_end
			vm_kill
			return
		} ;;
	esac
	vm_run || { tracer_end; return; }
	tracer_stop "$3"
	events=0
	[[ $3 = hostrace* ]] && events=$("$hostrace" info -f json -i "$work/request.hrt" | jq '[.result.events[]] | add')
	row request mode="$2" tool="$3" cpu_ns="$((used / requests))" ns="$((took / requests))" \
		events="$(awk "BEGIN {printf \"%.2f\n\", $events / $requests}")"
}

# USDT probes alone: a program that only has QEMU's probes pops 1000 elements and fills 999.
elements_run() { # TOOL EVENTS
	local pid="" in
	rm -f "$work/go" "$work/marks.out"
	mkfifo "$work/go"
	"$bench/measure" "$work/marks.out" "$work/marks" 1000 1 <"$work/go" >"$work/measured" &
	job=$!
	exec {in}>"$work/go"
	for _ in $(seq 500); do
		pid=$(sed -n 's/^ready //p' "$work/marks.out" 2>/dev/null)
		[ -n "$pid" ] && break
		sleep 0.02
	done
	[ "$1" = none ] || tracer_start hostrace "$pid" "$work/elements.hrt" "${2// /,}"
	used=$(cut -d ' ' -f 1 "/proc/$pid/schedstat")
	echo >&"$in"
	exec {in}>&-
	wait "$job"
	tracer_stop "$1"
	row request mode="marks alone" tool="$1" cpu_ns="$(jq "(.main_ns - $used) / 1000 | round" "$work/measured")" \
		ns="$(jq '.wall_ms * 1000 | round' "$work/measured")" events=0
}

bpftrace_requests() { # QEMU PID
	local exe
	exe=$(readlink -f "$(type -P "$1")")
	rm -f "$work/log"
	"${interruptible[@]}" bpftrace -p "$2" -e "uprobe:$exe:virtqueue_pop { @pops = count(); } uretprobe:$exe:virtqueue_pop { @returns = count(); }
		uprobe:$exe:virtqueue_fill { @fills = count(); } interval:ms:100 { printf(\"ready\\n\"); }" >"$work/log" 2>&1 &
	tracer=$!
	wait_for ready
}

requests_of() { # QEMU MODE
	local tool
	for _ in $(seq "$rounds"); do
		for tool in none hostrace-pop-fill hostrace-default bpftrace; do
			case $tool in
			bpftrace) why=$(reason_against bpftrace) ;;
			*) why= ;;
			esac
			if [ -n "$why" ]; then
				absent "$2" "$tool" "$why"
				continue
			fi
			case $tool in
			hostrace-pop-fill) request_run "$1" "$2" $tool "virtqueue_pop virtqueue_fill" ;;
			hostrace-default) request_run "$1" "$2" $tool default ;;
			*) request_run "$1" "$2" $tool "" ;;
			esac
		done
	done
}

for _ in $(seq "$rounds"); do
	rate_run kvm_pio hostrace pic 2
	rate_run "" "stat --interval" user 1
	rate_run "" top user 1
done
if ${CC:-gcc} -D_GNU_SOURCE -O2 -o "$work/marks" "$root/tests/live/record-marks.c" 2>"$work/log"; then
	for _ in $(seq "$rounds"); do
		elements_run none ""
		elements_run hostrace-pop-fill "virtqueue_pop virtqueue_fill"
	done
else
	absent "marks alone" hostrace "no sys/sdt.h (scripts/deps.sh live)"
fi
if ! type -P "$qemu" >/dev/null || ! boot_make 2>"$work/log"; then
	absent request hostrace "no QEMU, or no boot sector: $(tail -n 1 "$work/log" 2>/dev/null)"
	exit 0
fi
for _ in $(seq "$rounds"); do
	vm_start "$qemu" || break
	attach_run "stock QEMU" "$vm"
	vm_kill
done
requests_of "$qemu" request
if [ -x "${HOSTRACE_QEMU_USDT:-}" ]; then
	requests_of "$HOSTRACE_QEMU_USDT" request-marks
else
	absent request-marks hostrace "HOSTRACE_QEMU_USDT names no QEMU with marks (tests/rig/qemu-usdt.sh builds one)"
fi
