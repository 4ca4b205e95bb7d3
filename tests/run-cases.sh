#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs cases. A case is a folder with input files, `cmd` (a shell script, run in a copy of the folder with the built
# hostrace first on PATH) and `expect` (its expected output, then "exit N" if the status is not 0).
#
#   tests/run-cases.sh                      all, as TAP
#   tests/run-cases.sh NAME...              some
#   tests/run-cases.sh --update NAME...     writes `expect` from the present output; read the diff before committing
#   tests/run-cases.sh --sort [NAME...]     hostrace's comparisons are checked, and what it sorts is shuffled before
#                                           (tests/faults/sort.c): the output must be the same
#   tests/run-cases.sh --part N/M           every Mth case, from the Nth on
#   tests/run-cases.sh --names [NAME...]    names in the traces get characters that control a terminal or the direction
#                                           of text: none may be in what hostrace prints or writes for people
#
# HOSTRACE is the program (default build/hostrace); JOBS is how many cases run at once (default: one per CPU).
# stderr is not compared; a cmd that tests messages redirects it (2>&1).
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
hostrace=$(realpath "${HOSTRACE:-$root/build/hostrace}")
jobs=${JOBS:-$(nproc)}
hostile=0
# what may have names, for grep -E
texts='^1?[0-9.]+ .*(comm|path|stack)=|^# meta .*"name"'
controls=$(printf '\033|\007|\302\233|\342\200\256|\342\201\246')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export TZ=UTC LC_ALL=C PATH="$work/bin:$PATH" TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER
mkdir "$work/bin"
if [ "${1:-}" = --sort ]; then
	shift
	[ -e "$(dirname "$hostrace")/sort.so" ] || { echo "run-cases: no sort.so; run 'make check-build'" >&2; exit 2; }
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$(dirname "$hostrace")/sort.so" "$hostrace" >"$work/bin/hostrace"
	chmod +x "$work/bin/hostrace"
elif [ "${1:-}" = --names ]; then
	shift
	hostile=1
	sed "s|@HOSTRACE@|$hostrace|" "$root/tests/names/wrapper.sh" >"$work/bin/hostrace"
	chmod +x "$work/bin/hostrace"
else
	ln -s "$hostrace" "$work/bin/hostrace"
fi
case $(jq --version 2>&1) in
jq-1.[0-6]) ;;
*) sed "s|@JQ@|$(command -v jq)|" "$root/tests/jq.sh" >"$work/bin/jq" && chmod +x "$work/bin/jq" ;;
esac
for generator in "$(dirname "$hostrace")"/tests/gen/*; do
	[ -x "$generator" ] && ln -s "$generator" "$work/bin/"
done

# Makes names of the case in directory $1 hostile: in texts of hostrace. Its runs leave what they wrote in $1.runs.
names_make_hostile() {
	rm -rf "$1.runs"
	mkdir "$1.runs"
	grep -aslZ -m 1 '^# hostrace text' "$1"/* | xargs -0r sed -Ei -f "$root/tests/names/hostile.sed"
}

# Prints the output of the case in folder $1; $2 is a temporary directory.
run_case() {
	local status
	rm -rf "$2/case"
	cp -rL "$1" "$2/case" # a case may link to an input of another
	rm -f "$2/case/expect"
	[ $hostile = 0 ] || names_make_hostile "$2/case"
	# A minute of CPU time for each process: how long that takes depends on what else runs.
	(
		cd "$2/case" && export RUNS="$2/case.runs" && ulimit -t $((60 * ${TAP_SLOWER:-1})) &&
			timeout -k 5 $((240 * ${TAP_SLOWER:-1})) sh ./cmd 2>"$2/stderr" </dev/null
	)
	status=$?
	[ $status = 0 ] || echo "exit $status"
}

# Prints the result of case $2, number $1, whose runs are in $3: "controls" has each byte sequence that must not be there.
check_names() {
	if grep -alE "$controls" -r --exclude='*.words' "$3" >"$3.bad"; then
		echo "not ok $1 - $2"
		while read -r file; do
			echo "# $(cat "${file%.*}.words"): $(grep -aE -m 1 "$controls" "$file" | cat -v | cut -c 1-200)"
		done <"$3.bad"
	else
		echo "ok $1 - $2"
	fi
}

# Runs case $2, number $1, in temporary directory $3, and prints its result.
check_case() {
	local dir=$root/tests/cases/$2
	if [ ! -f "$dir/cmd" ]; then
		echo "not ok $1 - $2: no such case"
		return
	fi
	run_case "$dir" "$3" >"$3/out"
	if [ $hostile = 1 ]; then
		check_names "$1" "$2" "$3/case.runs"
		return
	fi
	if [ $update = 1 ]; then
		cp "$3/out" "$dir/expect"
		echo "ok $1 - $2: written"
	elif diff -u --label "$2/expect" --label printed "$dir/expect" "$3/out" >"$3/diff" 2>&1; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		sed 's/^/# /' "$3/diff"
		sed 's/^/# stderr: /' "$3/stderr"
	fi
}

update=0 part=
if [ "${1:-}" = --part ]; then
	part=$2
	shift 2
fi
if [ "${1:-}" = --update ]; then
	update=1
	shift
	[ $# -gt 0 ] || { echo "run-cases: --update needs names" >&2; exit 2; }
fi
if [ $# -eq 0 ]; then
	for d in "$root"/tests/cases/*/cmd; do
		[ -e "$d" ] && set -- "$@" "$(basename "$(dirname "$d")")"
	done
	[ $hostile = 0 ] || mapfile -t names < <(cd "$root/tests/cases" && grep -lE "$texts" ./*/*.txt | cut -d / -f 2 | uniq)
	[ $hostile = 0 ] || set -- "${names[@]}"
fi

if [ -n "$part" ]; then
	all=("$@")
	set --
	for ((i = ${part%/*} - 1; i < ${#all[@]}; i += ${part#*/})); do
		set -- "$@" "${all[i]}"
	done
fi

# Each job runs every jobs-th case; the results are printed in order at the end.
names=("$@")
mkdir "$work/results"
for ((job = 0; job < jobs; job++)); do
	mkdir "$work/$job"
	for ((i = job; i < $#; i += jobs)); do
		check_case $((i + 1)) "${names[i]}" "$work/$job" >"$work/results/$(printf %05d $i)"
	done &
done
wait
cat "$work"/results/*
echo "1..$#"
! grep -q '^not ok' -r "$work/results"
