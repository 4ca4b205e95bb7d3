#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual agrees with the program, as TAP: every command has a page with all sections and options; examples in the
# pages and in the README use existing commands and options.
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1
hostrace=${HOSTRACE:-build/hostrace}
man=${BUILD:-build}/man
. tests/lint/rule.inc

"$hostrace" --version || { echo "not ok 1 - $hostrace does not run"; exit 1; }
mapfile -t commands < <("$hostrace" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')

# Long and short options of each command, space-separated.
declare -A options
for c in "${commands[@]}"; do
	options[$c]=$("$hostrace" "$c" --help | sed -n '/^Options$/,/^$/s/^ \{2,6\}\(-.*\)/\1/p' |
		sed 's/  .*//' | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-zA-Z0-9-]*' | tr -d ' ,' | tr '\n' ' ')
done

has_command() {
	[ -n "${options[$1]:-}" ]
}

has_option() { # COMMAND OPTION
	case " ${options[$1]} " in *" $2 "*) return 0 ;; esac
	return 1
}

# Prints a page as plain text.
page() {
	sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' "$1"
}

for c in "${commands[@]}"; do
	if [ ! -f "$man/hostrace-$c.1" ]; then
		rule "$c has a page" "doc/man/hostrace-$c.1.scd is missing"
		continue
	fi
	found=
	text=$(page "$man/hostrace-$c.1")
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES "EXIT STATUS" "SEE ALSO"; do
		grep -qE "^\.SH \"?$section\"?$" <<<"$text" || found+="no section $section"$'\n'
	done
	for o in ${options[$c]}; do
		grep -qE -- "(^|[ ,])$o([ ,]|$)" <<<"$text" || found+="$o is missing in the page"$'\n'
	done
	rule "$c has a page with its sections and options" "$found"
done

rule "doc/schema/columns.json is what the declarations of columns say (make docs)" \
	"$("$hostrace" help schema | diff -u doc/schema/columns.json - | head -n 20)"

rule "every column has an explanation" "$("$hostrace" help columns | grep -nF '(null)')"

# The agent for guests is a separate program.
agent=${BUILD:-build}/hostrace-guest
rule "hostrace-guest has a page with its options" "$(
	[ -x "$agent" ] || { echo "$agent does not exist"; exit; }
	for o in $("$agent" --help | grep -oE -- '^  -[a-zA-Z], --[a-z]+' | tr -d ','); do
		page "$man/hostrace-guest.8" | grep -qE -- "(^|[ ,])$o([ ,]|$)" || echo "$o is missing in the page"
	done
)"

# "LETTER NAME": the option that the letter is in every command. "LETTER NAME COMMAND...": an exception. Only commands
# that have the options of OSv's trace.py need one (doc/man/hostrace.1.scd).
letters="
A show-address
F show-file-name
L show-line-number
S use-symbols-file
V version
a all
b backtrace
b batch top
c cpus
d duration
d debug cpu-load extract guest list list-timed memory-analyzer prof prof-flame prof-idle prof-lock prof-timed prof-wait profile wakeup-latency
e events
e exe annotate cpu-load extract guest list list-timed memory-analyzer prof prof-flame prof-idle prof-lock prof-timed prof-wait profile wakeup-latency
f format
f dumpfile convert-dump
g group-by
h help
i input
j jobs
l multiline
n count top
o output
q quiet
r caller-oriented
r remote extract guest
s sort
t tracepoint
u url
v verbose
x no-resolve
z zstd
"
rule "a letter is the same option in every command" "$(for c in "${commands[@]}"; do
	"$hostrace" "$c" --help | sed -n '/^Options$/,/^$/s/^ *-\([A-Za-z]\), --\([a-z-]*\).*/\1 \2/p' |
		while read -r letter name; do
			grep -qE "^$letter $name( .*)?( $c)( |\$)|^$letter $name\$" <<<"$letters" ||
				echo "$c: -$letter is --$name; it is --$(sed -n "s/^$letter \([a-z-]*\)\$/\1/p" <<<"$letters") elsewhere"
		done
done)"

rule "every --help fits 80 columns" "$({
	"$hostrace" --help
	for c in "${commands[@]}"; do "$hostrace" "$c" --help; done
} | awk 'length($0) > 80')"

rule "every page describes an existing command" "$(for f in doc/man/hostrace-*.1.scd; do
	c=$(basename "$f" .1.scd)
	has_command "${c#hostrace-}" || echo "$f: no such command"
done)"

rule "every page that is referred to exists" "$(grep -ohE '\*hostrace[a-z-]*\*\([0-9]\)' doc/man/*.scd | sort -u |
	tr -d '*' | sed 's/(\(.\))/.\1/' | while read -r p; do
	[ -f "doc/man/$p.scd" ] || echo "$p"
done)"

# A line such as "# hostrace exits --by vcpu | jq ..." in the pages and the README.
rule "examples use existing commands and options" "$(grep -hoE '^ *[$#] hostrace [a-z-]+[^|;&]*' README.md doc/cookbook.md doc/man/*.scd |
	sed 's/ -- .*//' | sort -u | while read -r _ _ c rest; do
	[ "$c" = help ] && continue
	has_command "$c" || { echo "no command '$c'"; continue; }
	# shellcheck disable=SC2013
	for o in $(grep -oE -- '(^| )--?[a-zA-Z][a-zA-Z-]*' <<<"$rest"); do
		has_option "$c" "$o" || echo "hostrace $c has no option $o"
	done
done)"

# "hostrace exits --by vcpu" in a table of doc/coming-from.md.
rule "the equivalents of other tools' commands exist" "$(grep -oE '`hostrace [a-z-]+[^`]*`' doc/coming-from.md | tr -d '`' |
	sed 's/ \\| /\n/g' | sort -u | while read -r _ c rest; do
	has_command "$c" || { echo "no command '$c'"; continue; }
	for o in $(grep -oE -- '(^| )--?[a-zA-Z][a-zA-Z-]*' <<<"$rest"); do
		has_option "$c" "$o" || echo "hostrace $c has no option $o"
	done
done)"

# "COMMAND OPTION" for all that a shell's file completes; bash offers long options only.
completed() { # SHELL
	case $1 in
	bash) sed -nE 's/^	([a-z-]+)\) words="(.*)".*/\1 \2/p' "$completions.bash" ;;
	zsh) awk '
		/^	[a-z-]+\) _arguments/ { command = substr($1, 1, length($1) - 1) }
		command { while (match($0, /'\''\*-[^[]*\[/)) { print command, substr($0, RSTART + 2, RLENGTH - 3); $0 = substr($0, RSTART + RLENGTH) } }
		/;;$/ { command = "" }' "$completions.zsh" ;;
	fish) sed -nE "s/.*seen_subcommand_from ([a-z-]+)'(.*)/\1 \2/p" "$completions.fish" | awk '{
		for (i = 2; i < NF; i++) if ($i == "-s") print $1, "-" $(i + 1); else if ($i == "-l") print $1, "--" $(i + 1) }' ;;
	esac | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u
}

completions=${BUILD:-build}/hostrace
for shell in bash zsh fish; do
	rule "$shell completes every command and option" "$(for c in "${commands[@]}"; do
		for o in ${options[$c]}; do
			case $shell$o in bash-[^-]*) continue ;; esac
			echo "$c $o"
		done
	done | sort -u | comm -23 - <(completed $shell))"
done

# Examples that need no privileges (prompt "$") are run, up to the first pipe, with small traces of the names they use,
# but for `view`, which serves until ^C (tests/page/view.py).
rule "examples run" "$(
	dir=$(mktemp -d)
	program=$(realpath "$hostrace")
	export XDG_STATE_HOME=$dir/state
	for name in hostrace web1 a run1 run2 run3 off1 off2 off3 on1 on2 on3; do
		cp tests/cases/info/trace.txt "$dir/$name.hrt"
	done
	cp tests/cases/info/trace.txt "$dir/b.txt"
	cp tests/cases/osv-reports/tracefile* "$dir"
	cp tests/cases/profile-host/clock.txt "$dir/sampled.hrt"
	cp tests/cases/profile-host/kallsyms "$dir/guest.kallsyms"
	cp tests/cases/text-perf-chains/frames.txt "$dir/perf.data"
	cp tests/cases/heap/trace.txt "$dir/heap.hrt"
	cp tests/cases/faults/trace.txt "$dir/faults.hrt"
	cp tests/cases/syscalls/trace.txt "$dir/calls.hrt"
	for name in boot boot1 boot2; do cp tests/cases/boot/trace.txt "$dir/$name.hrt"; done
	cp tests/cases/guest-clock/host.hrt "$dir/vm.hrt"
	cp tests/cases/guest-clock/guest.dat "$dir/guest.dat"
	cd doc/man && grep -hoE '^\$ hostrace [^|;&>]*' ./*.scd ../cookbook.md | grep -v '^\$ hostrace view ' | sort -u | cut -d' ' -f 3- | while read -r line; do
		# The shell evaluates quotes in the example.
		(cd "$dir" && eval "timeout 60 '$program' $line" >out 2>err </dev/null)
		status=$?
		# 3: something was found; 1 is also what diagnose says of a recording that cannot show all causes
		[ $status = 0 ] || [ $status = 3 ] || grep -q 'the recording cannot show all causes' "$dir/err" || echo "hostrace $line: status $status: $(head -n 1 "$dir/err")"
	done
	rm -rf "$dir"
)"

rule "commands of doc/tutorial run" "$(HOSTRACE=$hostrace scripts/tutorial-pages.sh --check)"

# Whole pipes, which must print something.
if command -v jq >/dev/null; then
	rule "recipes of doc/jq.md run" "$(
		dir=$(mktemp -d)
		cp tests/cases/requests/host.txt "$dir/vm.hrt"
		cp tests/cases/requests/guest.trace "$dir"
		ln -s "$(realpath "$hostrace")" "$dir/hostrace"
		sed -n 's/^    \$ //p' doc/jq.md >"$dir/recipes"
		[ -s "$dir/recipes" ] || echo "doc/jq.md has no recipes"
		while read -r line; do
			(cd "$dir" && PATH=$dir:$PATH timeout 60 bash -o pipefail -c "$line" >out 2>err </dev/null)
			status=$?
			[ $status = 0 ] && [ -s "$dir/out" ] || echo "$line: status $status: $(head -n 1 "$dir/err" "$dir/out")"
		done <"$dir/recipes"
		rm -rf "$dir"
	)"
fi

rule "doc/causes.md has a section for each cause, in the table's order" "$(
	diff <(sed -n '/^const struct cause causes/,$s/^\t{"\([a-z-]*\)", .*/\1/p' src/output/report/causes.c) \
		<(sed -n 's/^## //p' doc/causes.md))"

if command -v man >/dev/null; then
	rule "pages format without warnings" "$(for f in "$man"/*.[158]; do
		MANWIDTH=80 man --warnings -l "$f" 2>&1 >/dev/null | sed "s|^|$(basename "$f"): |"
	done)"
fi

echo "1..$n"
exit $failed
