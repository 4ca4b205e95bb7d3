// SPDX-License-Identifier: GPL-2.0-or-later
/* Every format. A new one: its file here beside, and its two lines. */
#include <stddef.h>

#include "report.h"

extern const struct format text_format, json_format, csv_format, svg_format, html_format;
extern const struct format perfetto_format;

const struct format *const formats[] = {
	&text_format, &json_format, &csv_format, &svg_format, &html_format, &perfetto_format, NULL,
};
