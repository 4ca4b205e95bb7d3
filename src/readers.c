// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>

#include "readers.h"
#include "guestside/osv/osv_reader.h"
#include "guestside/ring_reader.h"
#include "guestside/stream_reader.h"
#include "readers/ftracetext.h"
#include "readers/perfdata.h"
#include "readers/tracedat.h"
#include "tracefile/tracefile.h"

const struct reader_ops *const readers[] = {
	&tracefile_reader,
	&textfile_reader,
	&ring_reader,
	&stream_reader,
	&tracedat_reader,
	&perfdata_reader,
	&tracefs_reader,
	&ftracetext_reader,
	&osv_reader,
	NULL,
};
