/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_SVG_H
#define HOSTRACE_SVG_H

#include "output/report.h"

/* The picture alone, for svg and html. */
void svg_heatmap_draw(const struct report *r, const struct heatmap *h, FILE *f);

#endif
