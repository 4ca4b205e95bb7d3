#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the paths of the shared libraries that programs need, one per line.
#   libraries.sh PROGRAM...
set -u
for program; do
	ldd "$program"
done 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u
