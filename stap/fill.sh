#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes each script of this folder self-contained: below its line "# ---- filled by fill.sh" it copies the pieces of
# tapset/hostrace.stp that the script uses, and the names of exit reasons if it calls hostrace_reason().
#
#   fill.sh            rewrites the scripts
#   fill.sh --check    prints those that are not up to date; status 1 if there are any
#
# In a script the probe points are named vm.NAME instead of hostrace.NAME: if the tapset is installed too, an alias
# defined twice would fire twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mark="# ---- filled by fill.sh from tapset/hostrace.stp: do not edit below ----"

# Prints the pieces (paragraphs) that define what the text on stdin uses, and what these use in turn.
pieces_of() {
	awk '
	function want(text,   rest, word) {
		rest = text
		while (match(rest, /(vm\.|hostrace_)[a-z_.]*[a-z]/)) {
			word = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			if (!(word in defined) || taken[defined[word]])
				continue
			taken[defined[word]] = 1
			want(piece[defined[word]])
		}
	}
	FNR == NR {
		if ($0 == "") {
			n++
			next
		}
		gsub(/hostrace\./, "vm.")
		if ($1 == "probe" || $1 == "function") {
			word = $2
			sub(/:.*/, "", word)
			defined[word] = n
		}
		piece[n] = piece[n] $0 "\n"
		next
	}
	{ text = text $0 "\n" }
	END {
		want(text)
		for (i = 0; i <= n; i++)
			if (taken[i])
				printf "\n%s", piece[i]
	}' tapset/hostrace.stp -
}

# The names that the kernel prints, from hostrace's own table.
reasons() {
	printf '\nglobal reason_name\n\nfunction hostrace_reason:string(isa:long, code:long)\n{\n'
	printf '\tif ([isa, code] in reason_name)\n\t\treturn reason_name[isa, code]\n'
	printf '\treturn sprintf("%%#x", code)\n}\n\nprobe begin(-1)\n{\n'
	awk '/number_name vmx\[/ { isa = 1 } /number_name svm\[/ { isa = 2 } /^};/ { isa = 0 }
		isa {
			while (match($0, /\{[^}]*\}/)) {
				split(substr($0, RSTART + 1, RLENGTH - 2), part, ", ")
				printf "\treason_name[%d, %s] = %s\n", isa, part[1], part[2]
				$0 = substr($0, RSTART + RLENGTH)
			}
		}' ../src/event/exit_reason.c
	printf '}\n'
}

status=0
for script in *.stp; do
	own=$(sed "/^# ---- filled by/,\$d" "$script")
	{
		printf '%s\n\n%s\n' "$own" "$mark"
		printf '\nprobe begin(1) { println("# watching; ^C ends it") }\n'
		pieces_of <<<"$own"
		if grep -q 'hostrace_reason(' <<<"$own"; then
			reasons
		fi
	} >"$script.new"
	if [ "${1:-}" = --check ]; then
		cmp -s "$script" "$script.new" || { echo "stap/$script is not as fill.sh makes it"; status=1; }
		rm "$script.new"
	else
		mv "$script.new" "$script"
	fi
done
exit $status
