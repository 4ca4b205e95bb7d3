#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recorders whose allocations or system calls fail, one at a time: each records and ends with status 0, or with status 1
# and an error message; a file that it leaves is readable. `N=100 tests/run-live.sh tests/live/record-faults.sh` for more.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools strace
live_build "$BUILD/faults.so"

N=${N:-10}
SEED=${SEED:-$(date +%s)}
calls="openat:EMFILE openat:EINTR read:EIO pread64:EIO write:ENOSPC write:EINTR writev:ENOSPC writev:EIO newfstatat:EIO
mmap:ENOMEM lseek:EIO close:EIO rename:EIO fdatasync:EIO flock:EIO getdents64:EIO ppoll:EINTR bpf:ENOMEM bpf:EPERM
perf_event_open:EMFILE ioctl:EIO signalfd4:EMFILE pidfd_open:EMFILE epoll_wait:EINTR process_vm_readv:EFAULT prctl:EPERM
seccomp:ENOMEM setresuid:EAGAIN capset:EPERM socketpair:EMFILE clone:EAGAIN readlink:EIO"

# record DURATION PREFIX...: sets $status
record() {
	local duration=$1
	shift
	rm -f out.hrt out.hrt.*
	timeout -s KILL 200 "$@" "$HOSTRACE" record --vm "$vmm" -d "$duration" -o out.hrt >stdout 2>record.err
	status=$?
}

# run PREFIX...: the same for longer if events are missing, as the VM may have got no CPU
run() {
	record 50ms "$@"
	[ $status != 0 ] || ! "$HOSTRACE" info -i out.hrt >info.out 2>&1 || [ -z "$(quietly_missing)" ] || record 2s "$@"
}

# types: of the events in out.hrt
types() {
	"$HOSTRACE" info -f json -i out.hrt 2>info.err | jq -r '.result.events | keys[]' | sort
}

# quietly_missing: types that every recording has, that this one lacks, and of which it does not say so
quietly_missing() {
	types | comm -13 - types.all | while read -r type; do
		grep -qE "^(probes)? +$type +absent|lost +$type" info.out || grep -q "$type" record.err || echo "$type"
	done | xargs
}

# judge WHICH
judge() {
	local found=
	case $status in
	0) [ -e out.hrt ] || found="no file" ;;
	1) grep -q '^hostrace: record: ' record.err || found="no error message" ;;
	134) grep -qE '^hostrace: nss_database.c:.*Assertion|^Unexpected error\.$' record.err || found="status 134" ;; # glibc's own, without memory
	*) found="status $status" ;;
	esac
	if [ -e out.hrt ] && ! "$HOSTRACE" info -i out.hrt >info.out 2>&1; then
		found="$found; the file is not readable: $(tail -n 1 info.out)"
	fi
	if [ $status = 0 ] && [ -z "$found" ] && [ -n "$(quietly_missing)" ]; then
		found="status 0 without $(quietly_missing)"
	fi
	! ls out.hrt.* >/dev/null 2>&1 || found="$found; a temporary file remains"
	kill -0 $vmm || bail "the VM died"
	outcomes[$status]=$((${outcomes[$status]:-0} + 1))
	[ -z "$found" ] || wrong+="$1: $found: $(tail -n 1 record.err)"$'\n'
}

# mixed: lines at random, as many of each call as of any other
mixed() {
	shuf --random-source=<(yes "$SEED") | awk '{ print ++n[$1 $2], $0 }' | sort -n -s -k 1,1 | cut -d ' ' -f 2- | head -n "$N"
}

# verdict WHAT ALL
verdict() {
	printf '%s' "$wrong" >wrong.txt
	echo "# $N of $2 $1 failed: ${outcomes[0]:-0} recorded, ${outcomes[1]:-0} ended with an error message"
	is "$(wc -l <wrong.txt)" 0 "$1 that fail" wrong.txt
	wrong=
	outcomes=()
}

plan 2
echo "# SEED=$SEED"
"$BUILD/minivmm" count=count >vmm.out 2>vmm.err &
vmm=$!
trap 'kill $vmm; rm -rf "$scratch"' EXIT
until_line '^ready' vmm.out || bail "minivmm did not start"
wrong=
declare -A outcomes=()

record 50ms env FAULT_COUNT="$PWD/faults.count" LD_PRELOAD="$BUILD/faults.so"
[ $status = 0 ] || bail "record failed: $(cat record.err)"
record 2s
types >types.all
all=$(od -A n -t u8 faults.count | tr -d ' ')
while read -r n; do
	run env FAULT_ALLOC="$n" LD_PRELOAD="$BUILD/faults.so"
	judge "allocation $n"
done < <(seq "$all" | awk '{ print $1; print $1 "+" }' | shuf -n "$N" --random-source=<(yes "$SEED"))
verdict allocations "$all"

record 50ms strace -f -qq -o log -E FAULT_MARK=1 -E LD_PRELOAD="$BUILD/faults.so"
for call in $calls; do
	awk -v call="${call%:*}" -v error="${call#*:}" '
		index($0, " " call "(") && ++n[$1] > last { last = n[$1] }
		/"\/fault-mark"/ { first = n[$1] }
		END { for (i = first + 1; i <= last; i++) print call, error, i }' log
done >faults
all=$(wc -l <faults)
while read -r call error n; do
	run strace -f -qq -o /dev/null -e trace="$call" -e inject="$call:error=$error:when=$n" \
		-E FAULT_MARK=1 -E LD_PRELOAD="$BUILD/faults.so"
	judge "$call:$error $n"
done < <(mixed <faults)
verdict "system calls" "$all"
finish
