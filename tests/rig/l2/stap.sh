# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk that works (the second one) and, at the end, one that holds two writes (the first one).
dd if=/dev/vdb of=/dev/null bs=64k count=32 iflag=direct 2>/dev/null
dd if=/dev/zero of=/dev/vdb bs=4k count=64 oflag=direct 2>/dev/null
. /parts/leak.sh
