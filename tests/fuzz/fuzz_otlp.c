// SPDX-License-Identifier: GPL-2.0-or-later
/* What a receiver of OpenTelemetry's protocol answers. */
#include "exporter/text.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[64];

	if (!otlp_answer_read(data, size, text, sizeof(text)) != !*text)
		abort();
	return 0;
}
