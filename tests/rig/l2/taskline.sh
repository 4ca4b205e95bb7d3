# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# A guest whose exits are those of one task that writes lines on the console.
. /parts/taskgo.sh
go_wait
console_write 20
