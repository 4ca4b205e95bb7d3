/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace report: what is behind each cell of the heat map of exits. */
#ifndef HOSTRACE_REPORT_MOMENTS_H
#define HOSTRACE_REPORT_MOMENTS_H

#include <jansson.h>

/*
 * heatmap: the answer of `heatmap exit-latency`, whose cells they are. The input's selection applies. *ret is a new
 * reference, of at most `max` bytes in the page but for cells without spans; NULL if the heat map is empty. 0 or -errno
 * with the error message set.
 */
int report_moments(const json_t *heatmap, size_t max, json_t **ret);

#endif
