#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs in L1: the parts that the file `parts` names, each in a shell of its own; its status is written to NAME.status.
# The checks (../checks) run on L0 on the results; nothing is checked here.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# A part whose L2 was killed by the emulator's bug (see l2_command) or got no CPU time, or whose trace to compare with has
# lost events, is repeated once, and the console reports why. A part that does not end is killed, and fails the run.
bad=0
for part in $(cat parts); do
	for try in first second; do
		log "$part begins"
		setsid bash "./$part.sh" >"$out/$part.log" 2>&1 &
		session=$!
		{
			sleep "$part_seconds"
			processes_print $session >"$out/$part.processes"
			log "$part has not ended, see $part.processes"
			session_processes $session | xargs -r -n 1 basename | xargs -r kill -KILL
		} &
		watch=$!
		wait $session
		status=$?
		kill "$watch"
		echo $status >"$out/$part.status"
		log "$part ends with status $status"
		[ $status = 0 ] || tail -n 8 "$out/$part.log" | sed "s/^/$part: /"
		[ ! -e "$out/$part.processes" ] || {
			bad=1
			break 2
		}
		case $status in
		"$STATUS_L2_FAILED") reason=$(cat "$why") ;;
		"$STATUS_PEER_LOST") reason="tracefs lost events" ;;
		*) break ;;
		esac
		[ $try = first ] || break
		log "$part is repeated: $reason"
		echo "$reason" >>"$out/repeated"
		part_forget "$part"
	done
done
dmesg >"$out/dmesg"
cp /proc/modules "$out/modules"
exit $bad
