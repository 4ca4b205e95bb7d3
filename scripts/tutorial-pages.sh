#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the commands of doc/tutorial with its recordings, and writes their output and pictures into the pages. In a block
# that begins with "$ ", each line with this prompt is a command, what follows it its output.
#
#   scripts/tutorial-pages.sh            writes doc/tutorial
#   scripts/tutorial-pages.sh --check    only runs the commands; prints those that fail
set -u
cd "$(dirname "$0")/.." || exit 1
hostrace=$(realpath "${HOSTRACE:-${BUILD:-build}/hostrace}")
pages=doc/tutorial
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 TZ=UTC PATH="$work/bin:$PATH"
unset COLUMNS LINES NO_COLOR
mkdir "$work/bin" "$work/in"
ln -s "$hostrace" "$work/bin/hostrace"
cp $pages/*.hrt "$work/in/"

run() { # COMMAND
	local status
	(cd "$work/in" && timeout 60 bash -c "$1" </dev/null 2>"$work/errors")
	status=$?
	[ $status = 0 ] || [ $status = 3 ] || echo "$1: status $status: $(head -n 1 "$work/errors")" >>"$work/failed"
}

page() {
	local line block=
	while IFS= read -r line; do
		case $block$line in
		'```'*) block=new ;; # the line that follows decides
		new'$ '* | run'$ '*)
			block=run
			echo "$line"
			run "${line#\$ }"
			continue
			;;
		run'```') block= ;;
		run*) continue ;; # earlier output
		new'```' | other'```') block= ;;
		new*) block=other ;;
		esac
		echo "$line"
	done
}

for f in $pages/*.md; do
	page <"$f" >"$work/page"
	[ "${1:-}" = --check ] || cmp -s "$work/page" "$f" || cp "$work/page" "$f"
done
if [ "${1:-}" != --check ]; then
	for f in "$work"/in/*.svg; do
		[ ! -e "$f" ] || cmp -s "$f" "$pages/${f##*/}" || cp "$f" $pages/
	done
fi
[ ! -e "$work/failed" ] || { cat "$work/failed"; exit 1; }
