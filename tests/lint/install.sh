#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make install` into an empty directory: the program runs from there and finds its manual; completion completes.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

check() { # NUMBER NAME COMMAND...
	local nr=$1 name=$2
	shift 2
	if "$@" >"$dir/out" 2>&1; then
		echo "ok $nr - $name"
	else
		echo "not ok $nr - $name"
		sed 's/^/# /' "$dir/out"
	fi
}

complete_word() { # LINE WORD: is WORD offered where LINE ends?
	bash -c 'source "$1"; read -ra COMP_WORDS <<<"$2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hostrace
		printf "%s\n" "${COMPREPLY[@]}" | grep -qx -- "$3"' \
		_ "$dir/usr/share/bash-completion/completions/hostrace" "$1" "$2"
}

has_page() {
	"$dir/usr/bin/hostrace" help list | grep -q '^DESCRIPTION'
}

check 1 "it installs" make --no-print-directory install DESTDIR="$dir" PREFIX=/usr BUILD="${BUILD:-build}"
check 2 "it runs" "$dir/usr/bin/hostrace" --version
if command -v man >/dev/null; then
	check 3 "help opens the installed page" has_page
else
	echo "ok 3 # SKIP there is no man"
fi
check 4 "the demo's guest is there" test -s "$dir/usr/libexec/hostrace/demo-guest.elf"
check 5 "commands are completed" complete_word "hostrace li" list
check 6 "options are completed" complete_word "hostrace list --sin" --since
check 7 "the agent for Linux guests is there" "$dir/usr/sbin/hostrace-guest" --version
check 8 "it can be taken away" make --no-print-directory uninstall DESTDIR="$dir" PREFIX=/usr BUILD="${BUILD:-build}"
check 9 "nothing is left" test -z "$(find "$dir/usr" -type f; find "$dir/usr" -name 'hostrace*')"
echo "1..9"
