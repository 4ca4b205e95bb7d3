#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The libraries that programs need, one path a line: those they are linked to, and those that hostrace loads when it
# first uses them (src/base/lazy.h), with what these need.
#   libraries.sh PROGRAM...
set -u
for program; do
	ldd "$program"
	for name in $(readelf -p lazy_libraries "$program" 2>/dev/null | sed -n 's/^ *\[ *[0-9a-f]*\] *//p'); do
		path=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v n="$name" '$1 == n && /x86-64/ { print $NF; exit }')
		[ -z "$path" ] || { echo "$name => $path"; ldd "$path"; }
	done
done 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u
