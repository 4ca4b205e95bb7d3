#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What each command that reads a trace may cost for 100,000 events: system calls, requests to the supervisor of files
# (src/confine), opens of its inputs, and allocations of hostrace's own code. They are counted, not timed: by strace, and
# by src/base/memory.c. A cost that grows with the events exceeds its bound by far. Prints TAP, one result per run, and
# one for each command of `hostrace --help` that tests/costs/bounds does not list.
#
#   tests/costs/run.sh [COMMAND...]     only runs of these commands
#
# BUILD has hostrace and the generator of OSv traces; EVENTS: how many (default 100,000).
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath "${BUILD:-build}")
hostrace=$(realpath "${HOSTRACE:-$BUILD/hostrace}")
EVENTS=${EVENTS:-100000}
SECONDS_MAX=$((20 * ${TAP_SLOWER:-1})) # strace makes a system call an event slow: such a run only has to end
cases=$here/../cases
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export TZ=UTC LC_ALL=C TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER

. "$here/../tap.inc"

repeat() { # ARGUMENT... FILE
	awk -v events="$EVENTS" -v khz=2000000 "${@:1:$#-1}" -f "$here/repeat.awk" "${@: -1}"
}

trace_cmd_script() { # ARGUMENT...
	awk -v events="$EVENTS" "$@" -f "$here/../bench/tracedat.awk"
}

pasted() { # exits of a vCPU as in a mail
	awk -v events="$EVENTS" 'BEGIN { for (i = 0; i < events / 2; i++) {
		head = sprintf("> CPU 3/KVM-7301 [005] d..1. %d", 911 + int(i / 10000))
		printf "%s.%06d: kvm_exit: vcpu 3 reason HLT rip 0xffffffff81a00011 info1 0x0 info2 0x0 intr_info 0x0\n", head, i % 10000 * 100
		printf "%s.%06d: kvm_entry: vcpu 3, rip 0xffffffff81a00012\n", head, i % 10000 * 100 + 23
	} }'
}

qemu_log() {
	awk -v events="$EVENTS" 'BEGIN { for (i = 0; i < events; i++)
		printf("32416@%d.%06d:%s\n", 1795357760 + int(i / 10000), i % 10000 * 100,
			i % 2 ? "cpu_in addr 0x1f0(w) value 513" : "kvm_run_exit cpu_index 1, reason 2") }'
}

# Makes an input unless it is there: a case's trace, repeated; of NAME.txt as text, of NAME.hrt imported.
input_make() { # FILE
	local name=${1%.*}
	[ ! -e "$1" ] || return 0
	case $1 in
	*.hrt)
		input_make "$name.txt" && "$hostrace" -q import "$name.txt" -o "$1"
		;;
	guest.trace) # of host.txt
		input_make host.txt
		repeat -v copies="$(($(wc -l <host.txt) / $(grep -c '^[0-9]' "$cases/requests/host.txt")))" -v step=1 \
			"$cases/requests/guest.trace" >"$1"
		;;
	host.txt) repeat "$cases/requests/host.txt" >"$1" ;;
	packets.txt) "$hostrace" -q export text "$cases/osv-packets/proto.tracefile" 2>/dev/null >one && repeat one >"$1" ;;
	pasted.txt) pasted >"$1" ;;
	qemu.txt) qemu_log >"$1" ;;
	small.*) cp "$here/../fuzz/corpus/ring/small.ring" "$cases/guest-stream/small.guest" . ;;
	exits.dat) trace_cmd_script | "$BUILD/tests/gen/tracedat" /dev/stdin "$1" ;;
	exits.data) trace_cmd_script -v rounds=1 | "$BUILD/tests/gen/perfdata" /dev/stdin "$1" ;;
	prog.elf) cp "$cases/annotate/prog.elf" . ;;
	tracefile) "$BUILD/tests/bench/osvgen" "$EVENTS" >"$1" ;;
	*.txt) repeat "$cases/$name/trace.txt" >"$1" ;;
	esac
}

# What the log of strace holds: system calls but those that depend on when threads run; requests to the supervisor,
# which is the process that receives them; opens of the inputs by another than that one.
counts() { # INPUTS
	awk -v inputs="$1" '
		BEGIN { n = split(inputs, input, " ") }
		/resumed>/ { next }
		/SECCOMP_IOCTL_NOTIF_RECV/ { supervisor[$1] = 1; asks++ }
		!/ (futex|restart_syscall|clock_nanosleep|sched_yield|---|\+\+\+)/ { calls++ }
		/ open(at|at2)?\(/ { for (i = 1; i <= n; i++) if (index($0, input[i])) opens[$1]++ }
		END {
			for (pid in opens)
				if (!(pid in supervisor))
					sum += opens[pid]
			print calls + 0, sum + 0, asks + 0
		}' log
}

# The run on one CPU, so that the number of workers is the same everywhere.
run_one() { # NAME "CALLS OPENS ASKS ALLOCATIONS" ARGUMENT...
	local name=$1 bound=$2 inputs="" word status wrong="" i titles=("system calls" opens "requests to the supervisor" allocations)
	local is most
	shift 2
	for word; do
		case $word in *.hrt | *.txt | *.trace | *.dat | *.data | *.ring | *.guest | *.elf | tracefile)
			input_make "$word" || { right "$name" "the input $word cannot be made"; return; }
			inputs="$inputs $word"
			;;
		esac
	done
	HOSTRACE_DEBUG=memory timeout "$SECONDS_MAX" taskset -c "$cpu" strace -f -qq -s 256 -o log "$hostrace" "$@" >stdout 2>stderr
	status=$?
	# 3: something was found; 1 is also what diagnose says of a recording that cannot show all causes.
	[ $status = 0 ] || [ $status = 3 ] || grep -q 'diagnose: the recording cannot show all causes' stderr || wrong="exit status $status after at most $SECONDS_MAX s: $(tail -n 2 stderr)"$'\n'
	read -ra is <<<"$(counts "$inputs") $(sed -n 's/^debug: memory: \([0-9]*\) allocations/\1/p' stderr | tail -n 1)"
	read -ra most <<<"$bound"
	for i in 0 1 2 3; do
		[ "${is[i]:-0}" -le "${most[i]}" ] ||
			wrong+="${is[i]} ${titles[i]}, ${most[i]} allowed"$'\n'
	done
	[ -n "${is[3]:-}" ] || wrong+="no number of allocations"$'\n'
	[ -s stdout ] || [ -s out ] || [ -d out ] || wrong+="no output"$'\n'
	rm -rf out
	[ -z "$wrong" ] || wrong+=$(sed -E 's/^[0-9]+ +//; s/\(.*//' log | sort | uniq -c | sort -rn | head -n 5)
	right "$name: ${is[0]} system calls, ${is[1]} opens, ${is[2]} requests, ${is[3]:-?} allocations" "$wrong"
}

cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
command -v strace >/dev/null || { echo "Bail out! no strace; scripts/deps.sh check installs it"; exit 1; }
only=" $* "
listed=" "
while read -r calls opens asks allocations line; do
	name=${line%% *}
	listed+="$name "
	[ "$only" = "  " ] || [[ $only == *" $name "* ]] || continue
	[ "$calls" != - ] || continue # reads no trace
	read -ra words <<<"$line"
	run_one "$line" "$calls $opens $asks $allocations" "${words[@]}"
done < <(grep -v '^#' "$here/bounds")

# A new command is a line of tests/costs/bounds.
if [ $# = 0 ]; then
	missing=$("$hostrace" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | while read -r name; do
		[[ $listed == *" $name "* ]] || echo "$name"
	done)
	right "every command has bounds" "${missing:+no bounds in tests/costs/bounds: $missing}"
fi
results_end
