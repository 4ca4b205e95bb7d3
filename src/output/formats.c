// SPDX-License-Identifier: GPL-2.0-or-later
/* Every format. A new one: its file here beside, and its line. */
#include <stddef.h>

#include "output/report.h"

/* clang-format off */
#define FORMATS(FORMAT) \
	FORMAT(text) \
	FORMAT(json) \
	FORMAT(csv) \
	FORMAT(svg) \
	FORMAT(html) \
	FORMAT(perfetto)
/* clang-format on */

#define DECLARE(name) extern const struct format name##_format;
FORMATS(DECLARE)

#define LIST(name) &name##_format,
const struct format *const formats[] = {FORMATS(LIST) NULL};
