#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lint.sh finds the same files in a checkout and in an unpacked archive, and fails if it finds none.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lint/rule.inc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

list() { # DIRECTORY
	(cd "$1" && . tests/lint/files.inc && printf '%s\n' "${FILES[@]}")
}

list . >"$work/here"
mkdir "$work/archive" "$work/empty"
tr '\n' '\0' <"$work/here" | xargs -0 cp --parents -t "$work/archive"
mkdir "$work/archive/build"
touch "$work/archive/build/x.c" "$work/archive/src/main.o"
export GIT_CEILING_DIRECTORIES=$work
rule "an archive has the files of the checkout" "$(list "$work/archive" | diff "$work/here" - | head -n 20)"
rule "they are the files that exist" "$(
	for f in Makefile README.md src/main.c tests/lint/lint.sh .ci/run; do
		grep -qxF "$f" "$work/here" || echo "$f is not in the list"
	done)"

mkdir -p "$work/empty/tests"
cp -r tests/lint "$work/empty/tests/"
rm "$work/empty"/tests/lint/*.sh
cp tests/lint/lint.sh "$work/empty/tests/lint/run" # not a source file by its name
rule "lint.sh fails without files" "$(
	bash "$work/empty/tests/lint/run" >"$work/out" 2>/dev/null && echo "exit status 0"
	grep -q '^not ok 1 - there are files to check' "$work/out" || head -n 5 "$work/out"
	for what in "no C file" "no script" "no text" "no objects"; do
		grep -qF "$what" "$work/out" || echo "no message: $what"
	done)"

echo "1..$n"
exit $failed
