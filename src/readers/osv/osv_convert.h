/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_OSV_CONVERT_H
#define HOSTRACE_OSV_CONVERT_H

#include "readers/osv/osv.h"

#include <stdio.h>

/* Writes a trace as a tracefile of version 3. 0 or -errno with the error message set. */
int osv_convert(struct sample_trace *t, FILE *out);

#endif
