# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A guest whose exits are those of one dd.
. /parts/taskgo.sh
go_wait
dd if=/dev/vda of=/dev/null bs=4k count=300 iflag=direct 2>/dev/null
