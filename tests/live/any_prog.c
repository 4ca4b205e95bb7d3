// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * any_prog N: a program with functions and a USDT probe to be probed, of which it does N each after a line on its
 * standard input: work(i, 7), which returns i + 7, and the probe shop:sold with i and -i.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>

int data = 1;

__attribute__((noipa)) int work(int a, long b)
{
	return (int)(a + b);
}

__attribute__((noipa)) void sell(int i)
{
	DTRACE_PROBE2(shop, sold, i, -(long)i);
}

/* Its second instruction is a NOP of 5 bytes. */
void padded(void);
__asm__(".pushsection .text; .globl padded; .type padded, @function; padded: push %rbx; "
	".byte 0x0f, 0x1f, 0x44, 0, 0; pop %rbx; ret; .size padded, . - padded; .popsection");

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	getchar();
	for (int i = 0; i < n; i++) {
		work(i, 7);
		sell(i);
		padded();
	}
	return 0;
}
