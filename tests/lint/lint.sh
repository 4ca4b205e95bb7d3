#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules of this project that a program can check, as TAP: one rule, one test. CONTRIBUTING.md explains them.
set -u
shopt -s lastpipe # rule() counts, so it must not run in a subshell
cd "$(dirname "$0")/../.." || exit 1

FILE_LINES_MAX=600
TEST_LINES_MAX=800
FUNCTION_LINES_MAX=80
CODE_COLUMNS_MAX=100
COMMENT_COLUMNS_MAX=120

. tests/lint/files.inc

n=0
failed=0
# rule NAME: reads violations from stdin; passes if there are none.
rule() {
	local found
	found=$(cat)
	n=$((n + 1))
	if [ -z "$found" ]; then
		echo "ok $n - $1"
		return
	fi
	echo "not ok $n - $1"
	echo "$found" | head -n "${LINT_SHOW:-40}" | sed 's/^/#   /'
	failed=1
}

mapfile -t C < <(files '*.c' '*.h' '*.S' '*.def')
mapfile -t SCRIPTS < <(files '*.sh' '.ci/run' '*.mk' Makefile)
mapfile -t TEXTS < <(files '*.md' '*.scd')

# Without files, every rule below would pass.
{
	[ ${#C[@]} -gt 0 ] || echo "no C file"
	[ ${#SCRIPTS[@]} -gt 0 ] || echo "no script"
	[ ${#TEXTS[@]} -gt 0 ] || echo "no text"
	[ -n "$(find src bpf -name '*.[ch]' 2>&1 | head -n 1)" ] || echo "no file in src/ and bpf/"
	[ -e "${BUILD:-build}/src/main.o" ] || echo "no objects in ${BUILD:-build}: run make"
} | rule "there are files to check"

mapfile -t SOURCES < <(printf '%s\n' "${C[@]}"; files '*.sh' '.ci/run')
grep -m 1 -nH 'SPDX-License-Identifier: GPL-2.0-or-later' "${SOURCES[@]}" | awk -F: '$2 <= 2 { print $1 }' | sort |
	comm -13 - <(printf '%s\n' "${SOURCES[@]}" | sort) | rule "every source begins with its SPDX line"

awk 'FNR == 2 && !/^\/\*/ { print FILENAME }' $(files 'src/*.c') | rule "every .c file of src/ begins with a comment that says what it is for"

grep -nE '[[:blank:]]+$' "${C[@]}" "${SCRIPTS[@]}" "${TEXTS[@]}" | rule "no trailing blanks"

grep -nE '^(        |	* +	)' "${C[@]}" | rule "tabs indent"

grep -nE '^ \*[[:alnum:](=]' "${C[@]}" | rule "a blank follows the asterisk of a comment's line"

# Tables keep their own alignment between "clang-format off" and "on"; *.def are tables.
printf '%s\n' "${C[@]}" | grep -v '\.def$' | LC_ALL=C xargs awk -v code=$CODE_COLUMNS_MAX -v comment=$COMMENT_COLUMNS_MAX '
	function expanded(line, part, n, i, text) {
		n = split(line, part, "\t")
		for (i = 1; i < n; i++)
			text = text part[i] substr("        ", 1 + length(text part[i]) % 8)
		return text part[n]
	}
	FNR == 1 || /clang-format on/ { off = 0 }
	/clang-format off/ { off = 1 }
	off || length($0) * 8 <= code { next }
	{ gsub(/[\200-\277]/, "") } # UTF-8: one byte a character
	{ line = expanded($0); max = line ~ /^ *(\*|\/\/)|\/\*/ ? comment : code }
	length(line) > max { print FILENAME ":" FNR ": " length(line) " columns" }' |
	rule "no code beyond $CODE_COLUMNS_MAX columns, no comment beyond $COMMENT_COLUMNS_MAX"

wc -l "${C[@]}" "${SCRIPTS[@]}" | awk -v file=$FILE_LINES_MAX -v test=$TEST_LINES_MAX '
	{ max = $2 ~ /^tests\// ? test : file }
	$2 != "total" && $1 > max { print $2 ": " $1 " lines" }' |
	rule "no file beyond $FILE_LINES_MAX lines, no test beyond $TEST_LINES_MAX"

printf '%s\n' "${C[@]}" | grep '\.c$' | xargs awk -v max=$FUNCTION_LINES_MAX '
	/^\{/ { begin = FNR }
	/^\}/ && begin { if (FNR - begin - 1 > max) print FILENAME ":" begin ": " FNR - begin - 1 " lines"; begin = 0 }' |
	rule "no function beyond $FUNCTION_LINES_MAX lines"

# Who looks for the function that another calls should find one, not a dozen.
printf '%s\n' "${C[@]}" | grep '^src/.*\.c$' | xargs grep -HoE '^static [a-z_0-9 *]*[ *][a-z0-9]+\(' |
	sed -E 's/^([^:]+):.*[ *]([a-z0-9]+)\($/\2 \1/' | sort -u |
	awk '{ nr[$1]++; files[$1] = files[$1] " " $2 } END { for (word in nr) if (nr[word] > 2) print word ":" files[word] }' |
	rule "no static function whose name is one word in more than 2 files"

# State is passed in structs: no variable that is not const at file scope, and no function-level static. Derived from the
# object files: .data.rel.ro is const after relocation; .tbss belongs to the thread, as errno does. Exempt are the options
# of commands and the file that has main(). A table that is process-wide by design is a function-level static named
# `process_wide`, which the object file shows as process_wide.0 (clang: FUNCTION.process_wide): only that function can reach it.
objects=$(mktemp -d)
files 'src/*.c' | grep -vE '^src/(commands|guestside/demo)/' | while read -r f; do
	case $f in
	src/guestside/agent/*) # `make` links it from sources, without objects
		object=$objects/agent-$(basename "$f" .c).o
		${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Isrc -I"${BUILD:-build}" -w -c -o "$object" "$f" 2>>"$objects/errors"
		;;
	*) object=${BUILD:-build}/${f%.c}.o ;;
	esac
	[ -f "$object" ] && echo "$object"
done | xargs nm -f sysv | awk -F'|' '
	function flush() { if (!has_main) printf "%s", found; found = ""; has_main = 0 }
	/^Symbols from / { flush(); sub(/^Symbols from /, ""); sub(/:$/, ""); object = $0 }
	{ gsub(/[[:blank:]]/, "", $1); gsub(/ /, "", $3); gsub(/[[:blank:]]/, "", $7) }
	$1 == "main" && $3 == "T" { has_main = 1 }
	$3 ~ /^[bBdDC]$/ && $7 !~ /^\.(data\.rel\.ro|tbss|tdata)/ && $1 !~ /^(__(asan|odr|gcov|llvm)|\.|process_wide\.[0-9]+$|[a-z_]+\.process_wide$)/ {
		found = found object ": " $1 "\n"
	}
	END { flush() }' >"$objects/found"
cat "$objects/errors" "$objects/found" | rule "no mutable variable outside commands' options and main"
rm -rf "$objects"

# Allowed includes: src/folders ranks the folders, and a file includes only its own folder and those above it.
# Files of a folder that is not in the list, and all but main.c directly in src/, have no rank and fail.
awk '
	FNR == NR { if (/^[a-z]/) rank[$1] = ++nr; next }
	FNR == 1 {
		folder = FILENAME
		sub(/^src\//, "", folder)
		folder = folder ~ /\// ? folder : "./" folder
		sub(/\/[^\/]*$/, "", folder)
		if (FILENAME == "src/main.c")
			rank[folder] = nr + 1
		if (!(folder in rank) || (folder == "." && FILENAME != "src/main.c"))
			print FILENAME ": its folder is not in src/folders"
	}
	/^[ \t]*#[ \t]*include "/ {
		split($0, part, "\"")
		header = part[2]
		if (header !~ /\// || header ~ /\.def$/)
			next # of its own folder, generated, of bpf/, or a table of probes/
		sub(/\/[^\/]*$/, "", header)
		if (!(header in rank))
			print FILENAME ":" FNR ": " part[2] ": not in src/folders"
		else if (rank[header] > rank[folder])
			print FILENAME ":" FNR ": " folder " includes " part[2] " of higher rank"
	}' src/folders $(find src -name '*.[chS]' | sort) | rule "a file includes its own folder and lower ranks (src/folders)"

tests/lint/circles.py "${BUILD:-build}" tests/lint/circles |
	rule "no circle of calls between files of a folder but those of tests/lint/circles"

grep -nE '^#\s*include "(\.\./|src/)' bpf/* 2>/dev/null |
	rule "bpf/ includes nothing from src/"

# shellcheck disable=SC2046
grep -nE '^#\s*include <bpf/|hostrace\.skel\.h' $(find src -name '*.[ch]') |
	grep -v '^src/collector/' | rule "only the collector sees libbpf"

# base/log.c is for debugging, base/progress.c is the line on a terminal; programs in a guest have their own stderr.
find src -name '*.[ch]' | grep -vE '^src/(commands/|main\.c|base/(log|progress)\.c|guestside/)' | sort |
	xargs grep -nE '\bstderr\b|\bperror *\(|\bexit *\(' |
	grep -vE ':[0-9]+:[[:space:]]*(/?\*|//)' | rule "only commands and main print errors or exit"

# A field of our events is a struct member (src/event/records.h): a misspelt one must not compile. Readers, outputs and
# what binds a field once per type look names up.
grep -nE '\bevent_value\(|event_u64\(ev, event_field\(' src/*/*.c src/*/*/*.c src/*/*/*/*.c 2>/dev/null |
	rule "no field is looked up by name for each event"

# A name with a bidirectional control must not change what a terminal shows of JSON.
find src/commands src/output -name '*.c' | xargs awk '
	/json_dump[fs]\(/ { call = FILENAME ":" FNR ": " $0; until = FNR + 2 }
	call && /JSON_ENSURE_ASCII/ { call = "" }
	call && FNR == until { print call; call = "" }' |
	rule "reports write JSON in ASCII"

# Split so that this file does not find itself.
printf '%s\n' "${FILES[@]}" | grep -vE '\.(hrt|png|svg|zst|xz|gz)$' | tr '\n' '\0' |
	xargs -0 grep -nIE "/wo""rk/(main|sha""red|\.)|\.\./sha""red|/tmp/""b-|/ro""ot/\." | rule "no path of one machine"

{
	scripts/events-page.sh | diff -u doc/events.md - | head -n 20
} 2>&1 | rule "doc/events.md is what bpf/events.def says (make docs)"

{
	scripts/forms-page.sh | diff -u doc/forms.md - | head -n 20
	grep -nE '^\| `[a-z0-9-]+` \|  \|$' doc/forms.md
} 2>&1 | rule "doc/forms.md has the head of each case that feeds a foreign form (make docs)"

# Prints the file with the tests of a program that tests/tap.sh runs.
program_file() { # PROGRAM
	case $1 in
	unit/*) echo "tests/unit/test_${1#*/}.c" ;;
	fuzz/*) echo "tests/fuzz/fuzz_${1#*/}.c" ;;
	live/*) echo "tests/live/${1#*/}.sh" ;;
	leaks/*) echo "tests/rig/leaks/${1#*/}.sh" ;;
	case/*) echo "tests/cases/${1#*/}/cmd" ;;
	rig) echo tests/rig/check.sh ;;
	*) ! grep -qE "[[:blank:]=]$1,[0-9]" tests/tests.mk || echo tests/tests.mk ;;
	esac
}

grep -vE '^(#|$)' tests/quarantine | while IFS= read -r line; do
	if [[ $line =~ ^([a-z0-9/_-]+):\ .+\ \|\ .+\ \|\ .+$ ]]; then
		[ -f "$(program_file "${BASH_REMATCH[1]}")" ] || echo "$line: no such program"
	else
		echo "$line: not PROGRAM: TEST | RATE OF FAILURE | REASON"
	fi
done | rule "every quarantined test has a program, a rate and a reason"

# SECURITY.md names tests as `PROGRAM` or `PROGRAM: TEST`, at least one for each promise, or "none: REASON".
{
	promises=$(sed -n '/^## Promises/,/^## Limits/p' SECURITY.md | grep '^| [^-]' | grep -v '^| promise | tests |$')
	[ -n "$promises" ] || echo "SECURITY.md: no promise"
	grep -vE '\| (`[a-z]|none: )' <<<"$promises"
	cut -d'|' -f3 <<<"$promises" | grep -oE '`[^`]+`' | tr -d '`' | while IFS= read -r line; do
		file=$(program_file "${line%%: *}")
		if [ ! -f "$file" ]; then
			echo "SECURITY.md: $line: no such program"
		elif [[ $line == *": "* ]] && ! grep -qrwF -- "${line#*: }" "${file/%check.sh/}"; then
			echo "SECURITY.md: $line: no such test"
		fi
	done
} | rule "the tests that SECURITY.md names exist"

mapfile -t fuzzed < <(grep -vE '^#' tests/fuzz/targets | sed 's/^[a-z_]*: *//; s/ *|.*//' | tr ' ' '\n')

fuzz_target_has() { # FILE
	local pattern
	for pattern in "${fuzzed[@]}"; do
		# shellcheck disable=SC2254
		case $1 in $pattern) return 0 ;; esac
	done
	return 1
}

# Files that read what others made, and what tests/fuzz/targets says of them.
{
	find src/readers src/tracefile src/vm src/symbols src/fetch -name '*.c'
	ls src/collector/elf.c
} | sort | while read -r f; do
	fuzz_target_has "$f" || echo "$f"
done | rule "every parser has a fuzz target, or tests/fuzz/targets has the reason"

{
	sed -n 's/^\([a-z_]*\):.*/\1/p' tests/fuzz/targets | grep -vx none | sort -u |
		diff - <(printf '%s\n' tests/fuzz/fuzz_*.c | sed 's|.*fuzz_||; s|\.c$||')
	for f in tests/fuzz/fuzz_*.c; do
		name=${f##*/fuzz_}
		[ -n "$(files "tests/fuzz/corpus/${name%.c}/*")" ] || echo "$f: no file in tests/fuzz/corpus/${name%.c}"
	done
} | rule "every fuzz target is in tests/fuzz/targets and has a corpus"

echo "1..$n"
exit $failed
