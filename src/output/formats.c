// SPDX-License-Identifier: GPL-2.0-or-later
/* Every format. To add one, add its file to this folder and a line here. */

#include "output/report.h"

/* clang-format off */
#define FORMATS(FORMAT) \
	FORMAT(text) \
	FORMAT(json) \
	FORMAT(csv) \
	FORMAT(svg) \
	FORMAT(html) \
	FORMAT(perfetto) \
	FORMAT(chrome) \
	FORMAT(tree)
/* clang-format on */

#define DECLARE(name) extern const struct format name##_format;
FORMATS(DECLARE)

#define LIST(name) &name##_format,
const struct format *const formats[] = {FORMATS(LIST) NULL};
