/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_SVG_H
#define HOSTRACE_SVG_H

#include "output/report.h"

/* The picture alone, for svg and html. */
void svg_heatmap_draw(const struct report *r, const struct heatmap *h, FILE *f);

/* Text from outside, as it may stand in SVG and HTML. */
void svg_put_escaped(FILE *f, const char *text);

#endif
