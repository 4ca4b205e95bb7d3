# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# The kernel's symbols, as the guest has them, then disk reads once the second disk says so.
. /parts/taskgo.sh
echo "l2: symbols $(grep -vE '\[(bpf|__builtin__[a-z]*)\]$' /proc/kallsyms | md5sum)"
go_wait
dd if=/dev/vda of=/dev/null bs=4k count=100 iflag=direct 2>/dev/null
echo "l2: reads $(cut -c 1-11 /sys/block/vda/stat)"
