#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports on a terminal: the pager is started when there is something to show. tmux sends the keys, and its screen is
# compared.
# Needs $HOSTRACE; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools tmux less
. "$ROOT/tests/live/tmux.inc"

# events NUMBER: exits of 1 ms
events() {
	awk -v nr="$1" 'BEGIN { for (i = 0; i < nr; i++) {
		printf "%.9f kvm_exit pid=10 tid=11 cpu=0 vcpu=0 isa=1 reason=12\n", 1 + i / 500
		printf "%.9f kvm_entry pid=10 tid=11 cpu=0 vcpu=0 rip=0\n", 1.001 + i / 500 } }'
}

plan 7
terminal_start
keys "unset LESS; export HOSTRACE_PAGER='touch paged; less'; clear" Enter
until_screen '^prompt>' || bail "no shell"

{
	echo '# hostrace text 1'
	events 100
} >small.txt
keys "'$HOSTRACE' list small.txt" Enter
shows '^:$' "a long report is in a pager"
is "$(head -n 1 screen)" "#    seconds cpu vcpu thread          event fields" "... at its begin" screen
keys q
shows '^prompt> *$' "... which q ends"
keys clear Enter "'$HOSTRACE' exits small.txt; echo status \$?" Enter
shows '^status 0' "a short report stays on the screen"
is "$(ls paged)" paged "... and went through the pager" screen
rm paged

keys clear Enter "'$HOSTRACE' blame nothing.hrt; echo status \$?" Enter
shows '^status 1' "a report that fails before its first line"
is "$(grep -c 'nothing.hrt: No such file' screen) $(ls paged 2>/dev/null)" "1 " "... starts no pager" screen
finish
