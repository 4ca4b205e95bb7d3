/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_SVG_H
#define HOSTRACE_SVG_H

#include "output/report.h"

/* The picture alone, for svg and html. */
void svg_heatmap_draw(const struct report *r, const struct heatmap *h, FILE *f);

/* Begins a picture of text and waterfalls, up to its heading's text. */
void svg_waterfall_begin(FILE *f, unsigned int width, unsigned int height);

/* The distance of an axis' marks, 1, 2, 5, 10, 20, ... ns, for at most so many steps in a span. */
uint64_t svg_axis_step(uint64_t span_ns, unsigned int most);

/* A script of the picture, in a function of its own. */
void svg_script_put(const char *script, FILE *f);

#endif
