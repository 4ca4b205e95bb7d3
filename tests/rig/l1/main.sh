#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What L1 does, one boot for all checks. Each part runs in a shell of its own; its status goes to NAME.status.
# The checks (../checks) judge on L0 what is brought out; here things are only done.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# A part whose L2 died of the emulator (see l2_command) is done once more, and the console says so.
parts="healthy pair stat sample traced"
[ ! -d stap ] || parts="$parts stap"
[ ! -d marks ] || parts="$parts marks"
[ ! -f parts ] || parts=$(cat parts)
for part in $parts; do
	for try in first second; do
		say "$part begins"
		bash "./$part.sh" >"$out/$part.log" 2>&1
		status=$?
		echo $status >"$out/$part.status"
		say "$part ends with status $status"
		if [ $status != $STATUS_L2_DIED ] || [ $try = second ]; then
			break
		fi
		say "$part is done again: L2 died"
		part_forget "$part"
	done
done
dmesg >"$out/dmesg"
cp /proc/modules "$out/modules"
exit 0
