// SPDX-License-Identifier: GPL-2.0-or-later
/* The Accept header of a scraper. */
#include "exporter/format.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);

	memcpy(text, data, size);
	if (metric_format_negotiate(text) >= METRIC_FORMATS)
		abort();
	free(text);
	return 0;
}
