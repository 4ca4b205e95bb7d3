#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Completes a manual page: replaces the line "@OPTIONS@" by the options of the page's command from its --help, and
# "@COLUMNS@" by the columns of its tables from `hostrace help columns`, "@RECORDED@" by the events that record --for
# records from `hostrace help recorded`, so that page and program cannot differ.
#
#   doc/options.sh HOSTRACE PAGE.scd    prints the input for scdoc
set -euo pipefail
hostrace=$1
page=$2
name=$(basename "$page" .scd)
command=${name#hostrace-}
command=${command%.[0-9]}
help=$(mktemp)
trap 'rm -f "$help"' EXIT

# "  -i, --input FILE   text" and its continuation lines, until the next heading.
options() {
	if ! "$hostrace" "$command" --help >"$help" 2>/dev/null; then
		# A build without libbpf has no live commands.
		echo "$page: this build has no such command" >&2
		return
	fi
	awk '
	function escaped(s) {
		gsub(/[\\*_~#\[<>]/, "\\\\&", s)
		return s
	}
	function flush() {
		if (left == "")
			return
		n = split(left, word, / +/)
		line = ""
		for (i = 1; i <= n; i++)
			if (word[i] ~ /^-/) {
				comma = sub(/,$/, "", word[i])
				line = line (i > 1 ? " " : "") "*" escaped(word[i]) "*" (comma ? "," : "")
			} else {
				line = line " " escaped(word[i])
			}
		printf "%s\n\t%s%s\n\n", line, escaped(toupper(substr(text, 1, 1)) substr(text, 2)),
			text ~ /\.$/ ? "" : "."
		left = text = ""
	}
	/^Options$/ { on = 1; next }
	on && (/^[A-Z]/ || /^$/) { flush(); on = 0 }
	!on { next }
	/^  (    )?-/ {
		flush()
		left = $0
		sub(/^ +/, "", left)
		if (match(left, /  +/)) {
			text = substr(left, RSTART + RLENGTH)
			left = substr(left, 1, RSTART - 1)
		} else if (length($0) >= 30) {
			text = substr($0, 31)
			left = substr($0, 1, 30)
			sub(/^ +/, "", left)
		}
		sub(/ +$/, "", left)
		next
	}
	{
		sub(/^ +/, "")
		sub(/ +$/, "", text)
		text = text == "" ? $0 : text " " $0
	}
	END { flush() }' "$help"
}

# "  KEY  HEADING  text", "-" where a column has none; each table has a line of its own before.
columns() {
	"$hostrace" help columns "$command" | sed -E 's/[*_~#<>]/\\&/g
		s/^hostrace (.*): a row is (.*)/*hostrace \1*: a row is \2.\n/
		s/^  - +([^ ].{11}) (.*)/- _\1_ (in text): \2/
		s/^  ([^ ]+) +- +(.*)/- *\1*: \2/
		s/^  ([^ ]+) +([^ ].{11}) (.*)/- *\1* (_\2_): \3/
		s/ +_( \(in text\)|\))/_\1/
		s/^- \*(.*)\* \(_\1_\)/- *\1*/'
	echo
}

# "REPORT: EVENT, EVENT"
recorded() {
	"$hostrace" help recorded | sed -E 's/_/\\_/g; s/^([^:]+): (.*)/*\1*\n\t\2.\n/'
}

while IFS= read -r line; do
	if [ "$line" = @OPTIONS@ ]; then
		options
	elif [ "$line" = @COLUMNS@ ]; then
		columns
	elif [ "$line" = @RECORDED@ ]; then
		recorded
	else
		printf '%s\n' "$line"
	fi
done <"$page"
