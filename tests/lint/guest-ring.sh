#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Other kernels and programs include copies of the guest ring: outside this tree it must build without warnings with
# their compiler options, depend on no other file, be usable from C++, and write what hostrace can read.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
hostrace=$(realpath "${HOSTRACE:-$root/build/hostrace}")
cc=${CC:-cc} cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$root"/src/guestside/ring/ring.h "$root"/src/guestside/ring/ring.c "$root"/src/guestside/ring/ring_functions.h "$work"
cd "$work" || exit 1
strict="-Wall -Wextra -Wpedantic -Werror"
. "$root/tests/tap.inc"

# As in a kernel: no C library, no floating point, no red zone.
cat >use.c <<'END'
#include "ring.h"

static struct ring ring, *traced;

#define RING_FUNCTIONS_RING traced
#define RING_FUNCTIONS_CPU 0
#define RING_FUNCTIONS_THREAD 5
#include "ring_functions.h"

int use(void *mem, size_t bytes, int depth);

int use(void *mem, size_t bytes, int depth)
{
	struct ring_event ev = {0, 2, 0, "issue", {{"sector", RING_HEX, 1}, {"change", RING_SDEC, 1}}};
	int id;

	if (depth)
		return use(mem, bytes, depth - 1);
	if (ring_init(&ring, mem, bytes, 1, 8, RING_OVERWRITE, "use") || ring_functions_init(&ring))
		return 1;
	id = ring_event_add(&ring, &ev);
	traced = &ring;
	return !ring_trace(&ring, 0, 7, (uint16_t)id, 0x200, (uint64_t)-3) || !ring_trace(&ring, 0, 7, (uint16_t)id);
}
END
kernel="-std=c11 -ffreestanding -fno-stack-protector -fno-pic -O2"
[ "$(uname -m)" != x86_64 ] || kernel="$kernel -mno-red-zone -mgeneral-regs-only -mcmodel=kernel"
for local in "" -DRING_LOCAL; do
	$cc $kernel $strict -Wconversion -Wshadow -Wmissing-prototypes $local -c ring.c -o ring.o >log 2>&1 &&
		$cc $kernel $strict -Wconversion -Wshadow -Wmissing-prototypes $local -c use.c -o use.o >>log 2>&1
	result "freestanding C11 builds without a warning${local:+, $local}" $? log
	nm -u ring.o >log
	[ ! -s log ]
	result "it has no undefined symbols${local:+, $local}" $? log
done

# A C++ program with all functions traced; in C if there is no C++ compiler.
cat >main.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include "ring.h"
extern "C" int use(void *mem, size_t bytes, int depth);

int main(int, char **argv)
{
	size_t bytes = ring_bytes(1, 64, 8);
	void *mem = aligned_alloc(RING_ALIGN, (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN);
	FILE *f = fopen(argv[1], "w");
	struct ring second;
	alignas(RING_ALIGN) static char other[40960];

	if (ring_init(&second, other, sizeof(other), 1, 8, RING_DROP, "two") || !ring_trace(&second, 0, 1, 0, 1u, -2, 3l))
		return 2;
	if (!mem || !f || use(mem, bytes, 3) || fwrite(mem, 1, bytes, f) != bytes)
		return 1;
	return fclose(f);
}
END
stds="c++11 c++20"
if ! command -v "$cxx" >/dev/null; then
	cxx=$cc stds=c11
	cat >main.cc <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "ring.h"
int use(void *mem, size_t bytes, int depth);

int main(int argc, char **argv)
{
	size_t bytes = ring_bytes(1, 64, 8);
	void *mem = aligned_alloc(RING_ALIGN, (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN);
	FILE *f = fopen(argv[argc - 1], "w");

	if (!mem || !f || use(mem, bytes, 3) || fwrite(mem, 1, bytes, f) != bytes)
		return 1;
	return fclose(f);
}
END
fi
[ "$stds" != c11 ] || mv main.cc main.c
for std in $stds; do
	$cc -O2 $strict -finstrument-functions -c ring.c -o ring.o >log 2>&1 &&
		$cc -O2 -std=c11 $strict -finstrument-functions -c use.c -o use.o >>log 2>&1 &&
		$cxx -O2 -std=$std $strict -finstrument-functions main.c* use.o ring.o -o main >>log 2>&1
	result "$std builds without a warning" $? log
	./main out.ring >log 2>&1
	result "$std: it runs" $? log
done
"$hostrace" list -f json out.ring 2>log | grep -c '"guest:issue".*"change":-3' >>log
[ "$(tail -n 1 log)" = 1 ]
result "its events are read" $? log
"$hostrace" list -f csv out.ring 2>log | grep -c 'guest:function_exit' >>log
[ "$(tail -n 1 log)" -ge 3 ]
result "function exits are read" $? log
results_end
