#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make format [FILES=...]`: clang-format breaks lines of code longer than 100 columns and changes nothing else. Tables
# keep their alignment (clang-format off). Default: all C files.
set -eu
cd "$(dirname "$0")/../.."
. tests/lint/files.inc
[ $# -gt 0 ] || mapfile -t files < <(files '*.c' '*.h')
[ $# -eq 0 ] || files=("$@")

long_lines() {
	expand -t 8 "$1" | LC_ALL=C awk '
		/clang-format off/ { off = 1 }
		/clang-format on/ { off = 0 }
		{ gsub(/[\200-\277]/, "") }
		!off && length($0) > 100 && !/^ *(\*|\/\/)|\/\*/ { print "--lines=" NR ":" NR }'
}

for f in "${files[@]}"; do
	[[ $f == *.[ch] ]] || continue # clang-format takes any text for C
	for _ in 1 2 3; do
		mapfile -t lines < <(long_lines "$f")
		[ ${#lines[@]} -gt 0 ] || break
		clang-format -i "${lines[@]}" "$f"
	done
	[ ${#lines[@]} -eq 0 ] || echo "$f: too long: ${lines[*]}"
done
