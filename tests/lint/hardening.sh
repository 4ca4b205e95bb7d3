#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All programs have the protections that the Makefile enables in the compiler and the linker.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
export LC_ALL=C
. tests/lint/rule.inc

# has NAME PATTERN COMMAND...: the command's output matches.
has() {
	local name=$1 pattern=$2
	shift 2
	rule "$name" "$("$@" 2>&1 | grep -qE -- "$pattern" || echo "no '$pattern' in: $*")"
}

# Prints functions of this tree that use the stack protector, whose value is at %fs:0x28. Only static functions: their
# symbols follow the name of their source file, which distinguishes them from those of a static C library.
protected_functions() { # PROGRAM
	{
		find src -name '*.c' -printf 'source %f\n'
		readelf -sW "$1" | awk '$4 == "FILE" { print "file", $8 } $4 == "FUNC" && $5 == "LOCAL" { print "function", $8 }'
		objdump -d --no-show-raw-insn "$1"
	} | awk '
		$1 == "source" { source[$2] = 1; next }
		$1 == "file" { ours = $2 in source; next }
		$1 == "function" { if (ours) known[$2] = 1; next }
		/^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); next }
		/%fs:0x28/ && name in known { print name; name = "" }'
}

for program in "$build/hostrace" "$build/hostrace-http" "$build/hostrace-httpd" "$build/hostrace-decode" "$build/hostrace-guest"; do
	name=${program##*/}
	has "$name: position-independent" '\(FLAGS_1\).*\bPIE\b' readelf -dW "$program"
	has "$name: RELRO" '^ *GNU_RELRO ' readelf -lW "$program"
	has "$name: full RELRO" '\(FLAGS\).*BIND_NOW' readelf -dW "$program"
	has "$name: the stack is not executable" '^ *GNU_STACK .* RW +0x' readelf -lW "$program"
	has "$name: stack protector" . protected_functions "$program"
	has "$name: _FORTIFY_SOURCE" ' _+v?[sf]n?printf_chk' readelf -sW "$program"
	[ "$(uname -m)" != x86_64 ] ||
		has "$name: shadow stack" 'SHSTK' readelf -nW "$program"
done
echo "1..$n"
exit $failed
