#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands whose allocations and system calls fail, one at a time: each run must either end with status 1 and an error
# message, leaving no output file or the complete one, or do what it does without the fault. Prints TAP, one result per
# command and kind.
#
#   tests/faults/run.sh alloc|calls|short [JOB...]    commands of tests/faults/jobs
#
# N: how many faults are tried per command, chosen at random (SEED); all: every one. BUILD has hostrace and faults.so.
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath "${BUILD:-build}")
hostrace=$BUILD/hostrace
kind=$1
shift
N=${N:-4}
SEED=${SEED:-$(date +%s)}
export TZ=UTC LC_ALL=C TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# System calls, and the errors that they are made to return
calls="openat:EMFILE read:EIO pread64:EIO write:ENOSPC writev:ENOSPC newfstatat:EIO mmap:ENOMEM
pwrite64:ENOSPC lseek:EIO close:EIO rename:EIO fdatasync:EIO ftruncate:EIO flock:EIO getrandom:EAGAIN readlink:EIO getdents64:EIO
fcntl:EINVAL unlink:EIO write:EINTR openat:EINTR clone:EAGAIN socketpair:EMFILE prctl:EPERM seccomp:ENOMEM
landlock_restrict_self:EPERM setresuid:EAGAIN capset:EPERM"
declare -A outcomes=([same]=0 [error]=0 [lacks]=0 [wrong]=0)

. "$here/../tap.inc"
EXPLAIN_LINES=40

# run PREFIX...: the job's command; its status is in $status, its files are stdout, stderr and out
run() {
	rm -f out out.*
	timeout 200 "$@" "$hostrace" "${job[@]}" >stdout 2>stderr </dev/null
	status=$?
}

# The same content? The header of a trace has its random identifier.
same() {
	case $(head -c 8 "$1" | tr -d '\0') in
	HOSTRACE*) cmp -s <("$hostrace" export text "$1" 2>&1 | sed "s/$1/$2/g") <("$hostrace" export text "$2" 2>&1) ;;
	*) cmp -s "$1" "$2" ;;
	esac
}

# What is wrong with the run, if anything: judge WHICH-FAULT; counts the outcome
judge() {
	local found=
	if [ $status = 0 ] && cat stdout out 2>/dev/null | tr -d '\n#' | grep -q 'is *unknown'; then
		kind_of=lacks # the report itself says what
	elif [ $status = 0 ]; then
		kind_of=same
		cmp -s stdout want.stdout || found+="status 0, but other output ($(diff want.stdout stdout | head -n 4 | xargs -0)); "
		[ ! -e want.out ] || same out want.out || found+="status 0, but another file; "
	elif [ $status != 1 ]; then
		found+="status $status; "
	else
		kind_of=error
		grep -q '^hostrace: ' stderr || found+="status 1 without an error message; "
	fi
	for f in out.*; do
		[ ! -e "$f" ] || found+="status $status, and $f remains; "
	done
	# It may be complete: what was printed after it could not be written.
	if [ $status != 0 ] && [ -e out ] && ! same out want.out; then
		found+="status $status, and a part of the file; "
	fi
	if [ -n "$found" ]; then
		kind_of=wrong
		wrong+="$1: $found$(tail -n 1 stderr)"$'\n'
	fi
	outcomes[$kind_of]=$((outcomes[$kind_of] + 1))
}

# chosen: N of the lines, at random
chosen() {
	if [ "$N" = all ]; then
		cat
	else
		shuf -n "$N" --random-source=<(yes "$SEED $name")
	fi
}

# One fails, or all from that one on.
try_alloc() {
	local n all
	run env FAULT_COUNT="$work/count" LD_PRELOAD="$BUILD/faults.so"
	all=$(od -A n -t u8 count | tr -d ' ')
	while read -r n; do
		run env FAULT_ALLOC="$n" LD_PRELOAD="$BUILD/faults.so"
		judge "allocation $n"
	done < <(seq "$all" | awk '{ print $1; print $1 "+" }' | chosen)
	right "$name: allocations fail ($all)" "$wrong"
}

# faults_of_calls: "CALL ERROR N" for each call after the begin of main() as strace counts them: by task
faults_of_calls() {
	local call
	for call in $calls; do
		awk -v call="${call%:*}" -v error="${call#*:}" '
			index($0, " " call "(") && ++n[$1] > last { last = n[$1] }
			/"\/fault-mark"/ { first = n[$1] }
			END { for (i = first + 1; i <= last; i++) print call, error, i }' log
	done
}

# mixed: as many of one call as of any other, as long as there are some
mixed() {
	shuf --random-source=<(yes "$SEED $name") | awk '{ print ++n[$1 $2], $0 }' | sort -n -s -k 1,1 | cut -d ' ' -f 2- |
		if [ "$N" = all ]; then cat; else head -n "$N"; fi
}

try_calls() {
	local call error n all
	run strace -f -qq -o log -E FAULT_MARK=1 -E LD_PRELOAD="$BUILD/faults.so"
	all=$(faults_of_calls | wc -l)
	while read -r call error n; do
		run strace -f -qq -o /dev/null -e trace="$call" -e inject="$call:error=$error:when=$n" \
			-E FAULT_MARK=1 -E LD_PRELOAD="$BUILD/faults.so"
		judge "$call:$error $n"
	done < <(faults_of_calls | mixed)
	right "$name: system calls fail ($all)" "$wrong"
}

# Here nothing fails: the result must be the same.
try_short() {
	local how
	for how in FAULT_SHORT=1 FAULT_SHORT=13 FAULT_EINTR=2 FAULT_EINTR=3; do
		run env $how LD_PRELOAD="$BUILD/faults.so"
		[ $status = 0 ] || status=$((100 + status))
		judge "$how"
	done
	right "$name: short and interrupted reads and writes" "$wrong"
}

command -v strace >/dev/null || { echo "Bail out! no strace; scripts/deps.sh check installs it"; exit 1; }
echo "# SEED=$SEED"
while read -r name files line; do
	[ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
	[ "$kind $name" != "calls tcpdump" ] || continue # also tcpdump's own calls would fail, which it does not notice
	rm -rf ./*
	for f in ${files//,/ }; do
		cp "$here/../$f" . || exit 1
	done
	read -ra job <<<"$line"
	run env
	[ $status = 0 ] || { echo "Bail out! $name: $(cat stderr)"; exit 1; }
	cp stdout want.stdout
	[ ! -e out ] || cp out want.out
	wrong=
	try_"$kind"
done < <(grep -v '^#' "$here/jobs")
echo "# $kind: ${outcomes[same]} the same result, ${outcomes[error]} error messages," \
	"${outcomes[lacks]} reports that say what they lack, ${outcomes[wrong]} wrong"
results_end
