#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs in L1: the parts that the file `parts` names, each in a shell of its own; its status is written to NAME.status.
# The checks (../checks) run on L0 on the results; nothing is checked here.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# A part whose L2 was killed by the emulator's bug (see l2_command) is repeated once, and the console reports it.
for part in $(cat parts); do
	for try in first second; do
		log "$part begins"
		bash "./$part.sh" >"$out/$part.log" 2>&1
		status=$?
		echo $status >"$out/$part.status"
		log "$part ends with status $status"
		if [ $status != $STATUS_L2_DIED ] || [ $try = second ]; then
			break
		fi
		log "$part is repeated: L2 died"
		echo "L2 died" >>"$out/repeated"
		part_forget "$part"
	done
done
dmesg >"$out/dmesg"
cp /proc/modules "$out/modules"
exit 0
