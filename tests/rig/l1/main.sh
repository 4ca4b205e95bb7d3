#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What L1 does, one boot for all checks. Each part runs in a shell of its own; its status goes to NAME.status.
# The checks (../checks) judge on L0 what is brought out; here things are only done.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

for part in healthy pair; do
	say "$part begins"
	bash "./$part.sh" >"$out/$part.log" 2>&1
	echo $? >"$out/$part.status"
	say "$part ends with status $(cat "$out/$part.status")"
done
dmesg >"$out/dmesg"
exit 0
