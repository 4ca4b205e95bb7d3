// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A host's and a guest's trace, related: an input is a byte of options, the host's trace, a form feed, and the guest's;
 * both are traces as text, though any other reader may take them. Without a form feed there is no guest.
 *
 * The work limit is lowered, so that each input ends soon: what is not charged to it takes longer than SECONDS_MAX of
 * CPU time, and aborts.
 */
#include <math.h>
#include <time.h>

#include "clock/align.h"
#include "clock/align_internal.h"
#include "walk.h"

enum {
	WORK_MAX = 200000,  /* steps, and further ones for each event */
	SECONDS_MAX = 10,   /* a hundred times what that takes with sanitizers */
	EVENTS_MAX = 20000,
};

static const char *file_of(int *fd, char path[64], const uint8_t *data, size_t size)
{
	if (*fd < 0)
		*fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, (off_t)size) || pwrite(*fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", *fd);
	return path;
}

static void relation_check(const struct align *a, const struct align_guest *g)
{
	struct clock_proof sum;
	enum clock_verdict verdict = align_verdict(g, &sum);
	struct align_row *row = NULL;
	size_t nr = 0;

	if (verdict == CLOCK_VERIFIED && (sum.violations || !sum.checked))
		abort();
	if (isnan(g->error_ns) || g->error_ns < 0)
		abort();
	if (!align_rows(a, g, &row, &nr))
		for (size_t i = 0; i < nr; i++)
			if (row[i].error_ns < 0 || row[i].vcpu >= g->nr_vcpus)
				abort();
	free(row);
}

/* All events of the guest, with converted times. */
static void guest_read(struct align *a, const char *path)
{
	static struct batch batch;
	struct read_hint hint = {.until_ns = UINT64_MAX};
	struct reader *r = NULL;
	unsigned int nr = 0;

	if (align_open(a, path, &hint, &r))
		return;
	while (nr < EVENTS_MAX && reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++, nr++)
			textfile_print(&batch.ev[i], walk_sink());
	reader_close(r);
}

static void relate(const char *host, const char *guest, uint8_t options)
{
	static const char *const clocks[] = {NULL, "read", "fit", "-1000000,1.0001"};
	struct align_selection all = {.tsc_khz = options & 4 ? 2100000 : 0,
				      .no_guest = !guest};
	const struct align_guest *g;
	struct align *a = NULL;

	if (align_new(&host, 1, clocks[options & 3], &all, &a))
		return;
	a->work_max = WORK_MAX;
	if (!align_guest(a, guest, &g))
		relation_check(a, g);
	if (guest)
		guest_read(a, guest);
	align_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int host_fd = -1, guest_fd = -1;
	char host[64], guest[64];
	const uint8_t *middle = size ? memchr(data, '\f', size) : NULL;
	size_t len = middle ? (size_t)(middle - data) : size;
	clock_t begin = clock();

	if (!len)
		return 0;
	file_of(&host_fd, host, data + 1, len - 1);
	if (middle)
		file_of(&guest_fd, guest, middle + 1, size - len - 1);
	relate(host, middle ? guest : NULL, *data);
	event_types_forget();
	if (clock() - begin > SECONDS_MAX * CLOCKS_PER_SEC)
		abort();
	return 0;
}
