#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make install` to an empty directory: the program runs there and finds its manual, completion works, and uninstalling
# removes every file.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

. tests/tap.inc

check() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$dir/out" 2>&1
	result "$name" $? "$dir/out"
}

complete_word() { # LINE WORD: is WORD offered at the end of LINE?
	bash -c 'source "$1"; read -ra COMP_WORDS <<<"$2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hostrace
		printf "%s\n" "${COMPREPLY[@]}" | grep -qx -- "$3"' \
		_ "$dir/usr/share/bash-completion/completions/hostrace" "$1" "$2"
}

vm_completed() (
	mkdir "$dir/path"
	printf '#!/bin/sh\necho "    PID NAME             USER     VCPUS"; echo "    123 web1             root         2"\n' >"$dir/path/hostrace"
	chmod +x "$dir/path/hostrace"
	PATH=$dir/path:$PATH
	complete_word "hostrace record --vm we" web1 && complete_word "hostrace record --vm web1,1" web1,123
)

# The generated files define what each shell completes; one of these shells may be missing.
zsh_parses() {
	zsh -n "$dir/usr/share/zsh/site-functions/_hostrace"
}

fish_completes() { # LINE WORD
	fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$dir/usr/share/fish/vendor_completions.d/hostrace.fish" "$1" |
		cut -f 1 | grep -qx -- "$2"
}

with() { # PROGRAM NAME COMMAND...
	local program=$1
	shift
	if command -v "$program" >/dev/null; then
		check "$@"
	else
		skip "$program is not installed"
	fi
}

only_traces() {
	(cd "$dir" && touch a.hrt b.jpg && complete_word "hostrace exits -i a" a.hrt && ! complete_word "hostrace exits -i b" b.jpg)
}

has_page() {
	"$dir/usr/bin/hostrace" help list | grep -q '^DESCRIPTION'
}

# Every link of the installed pages is to an installed file.
links_work() (
	local page target missing=0
	cd "$dir/usr/share/doc/hostrace" || return
	while read -r page; do
		while read -r target; do
			[ -e "$(dirname "$page")/$target" ] || { echo "$page: $target is not installed"; missing=1; }
		done < <(grep -oE '\]\([^)# ]+' "$page" | cut -c 3- | grep -v '^https\?:')
	done < <(find . -name '*.md')
	[ $missing = 0 ] && [ -f doc/cookbook.md ] && [ -f doc/schema/list.json ]
)

# The tutorial's commands, with the installed recordings.
tutorial_reads() {
	"$dir/usr/bin/hostrace" info "$dir/usr/share/doc/hostrace/doc/tutorial/slow.hrt"
}

check "make install" make --no-print-directory install DESTDIR="$dir" PREFIX=/usr BUILD="${BUILD:-build}"
check "the program runs" "$dir/usr/bin/hostrace" --version
if command -v man >/dev/null; then
	check "help shows the installed page" has_page
else
	skip "man is not installed"
fi
check "the demo guest is installed" test -s "$dir/usr/libexec/hostrace/demo-guest.elf"
check "commands are completed" complete_word "hostrace li" list
check "options are completed" complete_word "hostrace list --sin" --since
check "the agent for Linux guests is installed" "$dir/usr/sbin/hostrace-guest" --version
check "analyzers are completed" complete_word "hostrace summary exit-l" exit-latency
check "events are completed" complete_word "hostrace list --event kvm_ex" kvm_exit
check "reports to record for are completed, after a comma" complete_word "hostrace record --for exits,bl" exits,blame
check "keys are completed" complete_word "hostrace exits --by v" vcpu
check "keys are completed, after a comma" complete_word "hostrace exits --by vm,v" vm,vcpu
check "keys are those of the command" complete_word "hostrace sched --by h" handler
check "names of VMs are completed" vm_completed
check "trace files are completed, no others" only_traces
with zsh "zsh reads its completion" zsh_parses
with fish "fish completes commands" fish_completes "hostrace li" list
with fish "fish completes options" fish_completes "hostrace list --sin" --since
with fish "fish completes keys" fish_completes "hostrace sched --by h" handler
with fish "fish completes analyzers" fish_completes "hostrace summary exit-l" exit-latency
check "links of the installed pages work" links_work
check "the tutorial's recording is installed" tutorial_reads
check "make uninstall" make --no-print-directory uninstall DESTDIR="$dir" PREFIX=/usr BUILD="${BUILD:-build}"
check "no file is left" test -z "$(find "$dir/usr" -type f; find "$dir/usr" -name 'hostrace*')"
results_end
