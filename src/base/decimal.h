/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with decimals as printf() writes them, digit for digit, at a tenth of its cost. */
#ifndef HOSTRACE_DECIMAL_H
#define HOSTRACE_DECIMAL_H

#include <stddef.h>

/* As "%.Nf". decimals: 0 to 6. buf has at least 32 bytes. Returns the text, which is somewhere in buf. */
const char *decimal_print(double v, unsigned int decimals, char *buf, size_t size);

/* As "%g"; at most 16 bytes, without a terminating NUL. Returns the end. */
char *decimal_put_general(char *p, double v);

#endif
