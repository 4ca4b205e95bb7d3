# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Functions of all bench scripts: start and stop a tracer, read its CPU time in ns, record why a tool cannot run. To be
# sourced with $build and $work set; $tracer is the pid of the running tracer, or empty.

bench=$build/tests/bench
hostrace=$build/hostrace
tracer=

# A non-interactive shell starts background jobs with SIGINT ignored, but tracers need it; busybox's env cannot reset it.
interruptible=(env --default-signal=INT)
"${interruptible[@]}" true 2>/dev/null || { interruptible=(); set -m; } # a process group for each job will do, too

tracer_end() { # also on the way out: ftrace switches its events off
	touch "$work/stop"
	[ -n "$tracer" ] && kill -INT "$tracer" 2>/dev/null && wait "$tracer" 2>/dev/null
	tracer=
}

# Prints one line of JSON: KIND KEY=VALUE...; numbers are not quoted. (The rig has no jq.)
row() {
	local pair value
	printf '{"kind":"%s"' "$1"
	shift
	for pair; do
		value=${pair#*=}
		value=${value//[[:cntrl:]]/ }
		[[ $value =~ ^-?[0-9]+(\.[0-9]+)?$ ]] || value="\"${value//[\"\\]/}\""
		printf ',"%s":%s' "${pair%%=*}" "$value"
	done
	echo '}'
}

# Records, once per MODE and TOOL, why there are no figures.
absent() { # MODE TOOL REASON
	grep -qsF "$1 $2" "$work/absent" && return
	echo "$1 $2" >>"$work/absent"
	row absent mode="$1" tool="$2" reason="$3"
}

wait_for() { # TEXT: in the tracer's log
	local end=$((SECONDS + 30))
	while ! grep -qs "$1" "$work/log"; do
		[ -n "$tracer" ] && ! kill -0 "$tracer" 2>/dev/null && return 1
		((SECONDS < end)) || return 1
		sleep 0.02
	done
}

# For a tracer that does not report when it is ready: waits until COMMAND succeeds, then half a second.
wait_until() { # COMMAND...
	local end=$((SECONDS + 30))
	until "$@"; do
		kill -0 "$tracer" 2>/dev/null || return 1
		((SECONDS < end)) || return 1
		sleep 0.05
	done
	sleep 0.5
	kill -0 "$tracer" 2>/dev/null
}

# CPU time of all threads of a process, in ns.
cpu_ns() {
	[ -n "$1" ] || { echo 0; return; }
	cat "/proc/$1/task/"*/schedstat 2>/dev/null | awk '{n += $1} END {printf "%.0f\n", n}'
}

bpf_events() { # as empty.bpf.c and the tracepoints have them
	echo "${1//kvm_run/kvm_fpu}"
}

# Prints why a tool cannot run here; nothing if it can.
reason_against() {
	case $1 in
	none | hostrace | hostrace-* | stat* | top) ;;
	empty | clock) [ -e "$bench/empty.bpf.o" ] || echo "not built" ;;
	ftrace) [ -w /sys/kernel/tracing/events/kvm ] || echo "no tracefs" ;;
	perf-kvm-stat | perf-sched) type -P perf >/dev/null || echo "perf is not installed" ;;
	trace-cmd) trace_cmd_reason ;;
	offcputime-bpfcc) offcputime_reason ;;
	*) type -P "$1" >/dev/null || echo "$1 is not installed" ;;
	esac
}

trace_cmd_reason() {
	if ! type -P trace-cmd >/dev/null; then
		echo "trace-cmd is not installed"
	elif ! timeout 20 trace-cmd record -q -o "$work/try.dat" -e kvm:kvm_pio sleep 0.1 >"$work/try" 2>&1; then
		echo "$(trace-cmd 2>&1 | sed -n 's/^trace-cmd version \([0-9.]*\).*/trace-cmd \1/p') records nothing here:" \
			"$(grep -v '^$' "$work/try" | head -n 1 | cut -c 1-80)"
	fi
	rm -f "$work"/try.dat*
}

# bcc compiles its programs where it runs.
offcputime_reason() {
	if ! type -P offcputime-bpfcc >/dev/null; then
		echo "offcputime-bpfcc is not installed"
	elif timeout 60 offcputime-bpfcc -f -p $$ 1 >"$work/try" 2>&1; then
		return
	elif grep -q "kernel headers" "$work/try"; then
		echo "bcc needs the headers of the running kernel ($(uname -r)), which are not installed"
	else
		echo "it does not start: $(grep -v '^$' "$work/try" | tail -n 1 | cut -c 1-80)"
	fi
}

# ftrace's ring buffers in overwrite mode without a reader: a lower bound of trace-cmd's cost. Prints bytes per event.
ftrace_record() { # PID EVENT...
	local pid=$1 dir=/sys/kernel/tracing e
	shift
	for e; do
		echo "common_pid==$pid" >"$dir/events/kvm/$e/filter"
		echo 1 >"$dir/events/kvm/$e/enable"
	done
	echo 1 >"$dir/tracing_on"
	echo ready
	while [ ! -e "$work/stop" ]; do
		sleep 0.1
	done
	for e; do
		echo 0 >"$dir/events/kvm/$e/enable"
		echo 0 >"$dir/events/kvm/$e/filter"
	done
	cat "$dir"/per_cpu/cpu*/stats | awk -v per=$# '/^entries/{n += $2} /^bytes/{b += $2} END{print "bytes", n ? b / n * per : 0}'
	echo >"$dir/trace"
}

# A condition that never holds, and whose events are those that are recorded (or none of them).
trigger_of() { # EVENTS
	case $1 in
	*kvm_entry*) echo 'exit-latency>1h' ;;
	*) echo 'userspace-exit>1h' ;;
	esac
}

# Starts TOOL on PID for EVENTS (kvm_run is ours, kvm_fpu the tracepoint's name) in the background; sets $tracer and
# $out, its file.
tracer_start() { # TOOL PID OUT EVENT...
	local tool=$1 pid=$2 e list=() script="" events
	out=$3
	shift 3
	read -ra events <<<"$(bpf_events "$*")"
	for e in "${events[@]}"; do
		list+=(-e "kvm:$e")
		script+=" tracepoint:kvm:$e /pid == $pid/ { @[probe] = count(); }"
	done
	tracer=
	rm -rf "$out"* "$work/stop" "$work/log"
	e="$*"
	case $tool in
	none) return 0 ;;
	empty | clock) "$bench/empty" "$bench/empty.bpf.o" "$tool" "${events[@]}" >"$work/log" 2>&1 & ;;
	hostrace) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --events "${e// /,}" >"$work/log" 2>&1 & ;;
	hostrace-zstd) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --events "${e// /,}" --zstd >"$work/log" 2>&1 & ;;
	hostrace-exit-reasons) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --events "${e// /,}" --exit-reasons \
		>"$work/log" 2>&1 & ;;
	hostrace-tasks) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --events "${e// /,}" --guest-tasks \
		>"$work/log" 2>&1 & ;;
	hostrace-ring) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --events "${e// /,}" --ring 64M >"$work/log" 2>&1 & ;;
	hostrace-armed) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --events "${e// /,}" --ring 64M \
		--trigger "$(trigger_of "$e")" >"$work/log" 2>&1 & ;;
	hostrace-*) "${interruptible[@]}" "$hostrace" record --vm "$pid" -o "$out" --for "${tool#*-}" >"$work/log" 2>&1 & ;;
	stat) "${interruptible[@]}" "$hostrace" stat --vm "$pid" -o "$out" >"$work/log" 2>&1 & ;;
	"stat --interval") "${interruptible[@]}" "$hostrace" stat --vm "$pid" --interval 1s -o "$out" >"$work/log" 2>&1 & ;;
	top) "${interruptible[@]}" "$hostrace" top --batch --vm "$pid" >"$work/log" 2>&1 & ;;
	ftrace) ftrace_record "$pid" "${events[@]}" >"$work/log" 2>/dev/null & ;;
	perf) "${interruptible[@]}" perf record -q -p "$pid" "${list[@]}" -o "$out" >"$work/log" 2>&1 & ;;
	perf-kvm-stat) "${interruptible[@]}" perf kvm stat record -q -p "$pid" -o "$out" >"$work/log" 2>&1 & ;;
	perf-sched) "${interruptible[@]}" perf sched record -q -o "$out" >"$work/log" 2>&1 & ;;
	offcputime-bpfcc) "${interruptible[@]}" offcputime-bpfcc -f -p "$pid" >"$work/log" 2>&1 & ;;
	trace-cmd) "${interruptible[@]}" trace-cmd record -P "$pid" "${list[@]}" -o "$out" >"$work/log" 2>&1 & ;;
	bpftrace) "${interruptible[@]}" bpftrace -e "$script interval:ms:100 { printf(\"ready\\n\"); }" >"$work/log" 2>&1 & ;;
	esac
	tracer=$!
	case $tool in
	empty | clock | ftrace | bpftrace) wait_for ready ;;
	hostrace-tasks) wait_for 'guest tasks of pid' && wait_for recording ;;
	hostrace*) wait_for recording ;;
	stat*) wait_for watching ;;
	top) wait_for hostrace ;;
	trace-cmd | offcputime-bpfcc) sleep 3 && kill -0 "$tracer" 2>/dev/null ;;
	*) wait_until grep -qs perf_event "/proc/$tracer/maps" ;;
	esac
}

# Stops the tracer as a user would.
tracer_stop() { # TOOL
	touch "$work/stop"
	[ -n "$tracer" ] || return 0
	case $1 in
	empty | clock) kill "$tracer" ;;
	ftrace) ;;
	*) kill -INT "$tracer" ;;
	esac 2>/dev/null
	wait "$tracer" 2>/dev/null
	tracer=
}

# Lost events, as the tool reports them.
tracer_lost() { # TOOL
	case $1 in
	hostrace-armed) sed -n 's/.*, \([0-9]*\) lost; ended by.*/\1/p' "$work/log" ;; # no file
	hostrace*) "$hostrace" info -i "$out" | awk '/^lost/ {on = 1; n += $2; next} /^ / && on {n += $1; next} {on = 0} END {print n + 0}' ;;
	perf*) perf report -i "$out" --stats 2>/dev/null | awk '/LOST/ && !/LOST_SAMPLES/ {n += $NF} END {print n + 0}' ;;
	trace-cmd) trace-cmd report -i "$out" --stat 2>/dev/null | awk '/overrun|dropped/ {n += $NF} END {print n + 0}' ;;
	*) echo 0 ;;
	esac
}

# Bytes written for a number of cycles; ftrace reports bytes per cycle.
tracer_bytes() { # TOOL CYCLES
	local bytes=0
	case $1 in
	none | empty | clock | stat | bpftrace | offcputime-bpfcc) ;;
	ftrace) bytes=$(awk -v n="$2" '$1 == "bytes" {print $2 * n}' "$work/log") ;;
	*) bytes=$(stat -c %s "$out" 2>/dev/null) ;;
	esac
	awk "BEGIN {printf \"%.2f\n\", ${bytes:-0} / $2}"
}
