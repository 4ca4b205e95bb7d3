// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Power failures of a disk whose writes QEMU's block driver blklogwrites has logged; the log's format is that of Linux'
 * dm-log-writes.
 *
 *   powercut entries LOG             prints the number of entries (writes and flushes) of the log
 *   powercut cut LOG IMAGE N SEED    IMAGE becomes what a power failure after N entries leaves: all that was written
 *                                    before the last flush, and of what came later some sectors, chosen at random.
 *                                    Of ext4's superblock both or none: its checksum is over two sectors, so half of
 *                                    it cannot be mounted; disks write 4096 bytes at once, if not more
 *   powercut write LOG TRACE ROUNDS  writes a trace with a sync after each round of a hundred numbers, and prints
 *                                    "ENTRIES NUMBERS" after it: from now on the disk has them
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "event/event.h"
#include "tracefile/tracefile.h"

#define LOG_MAGIC 0x6a736677736872ull

enum { SECTOR = 512, FLUSH = 1, DISCARD = 4, SUPERBLOCK = 2, ROUND = 2000, PAUSE_US = 20000 };

struct log_super {
	uint64_t magic, version, nr_entries;
	uint32_t sector_size;
};

struct log_entry {
	uint64_t sector, nr_sectors, flags, data_len;
};

static void read_at(int fd, void *to, size_t len, uint64_t offset)
{
	if (pread(fd, to, len, (off_t)offset) != (ssize_t)len)
		err(1, "log, offset %" PRIu64, offset);
}

static uint64_t log_entries(int fd)
{
	struct log_super super;

	read_at(fd, &super, sizeof(super), 0);
	if (super.magic != LOG_MAGIC || super.version != 1 || super.sector_size != SECTOR)
		errx(1, "unrecognized log");
	return super.nr_entries;
}

/* The entry at *at, which becomes the place of the next one. Its data begins one sector after the entry. */
static struct log_entry log_next(int fd, uint64_t *at)
{
	struct log_entry e;

	read_at(fd, &e, sizeof(e), *at);
	*at += SECTOR + (e.flags & DISCARD ? 0 : e.nr_sectors * SECTOR);
	return e;
}

/* Entries before it are safe after a power failure after `nr` entries. */
static uint64_t last_flush(int fd, uint64_t nr)
{
	uint64_t at = SECTOR, ret = 0;

	for (uint64_t i = 0; i < nr; i++)
		if (log_next(fd, &at).flags & FLUSH)
			ret = i;
	return ret;
}

static void apply(int fd, int image, const struct log_entry *e, uint64_t data, bool safe)
{
	static const char zeros[SECTOR];
	char sector[SECTOR];
	bool whole = safe || random() % 2, written = true;

	for (uint64_t i = 0; i < e->nr_sectors; i++) {
		if (!whole && e->sector + i != SUPERBLOCK + 1)
			written = random() % 2;
		if (!written)
			continue;
		if (!(e->flags & DISCARD))
			read_at(fd, sector, SECTOR, data + i * SECTOR);
		if (pwrite(image, e->flags & DISCARD ? zeros : sector, SECTOR,
			   (off_t)((e->sector + i) * SECTOR)) != SECTOR)
			err(1, "image");
	}
}

static void cut(int fd, const char *image_name, uint64_t nr)
{
	uint64_t at = SECTOR, safe = last_flush(fd, nr);
	int image = open(image_name, O_WRONLY);

	if (image < 0)
		err(1, "%s", image_name);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t data = at + SECTOR;
		struct log_entry e = log_next(fd, &at);

		if (i < safe || random() % 2)
			apply(fd, image, &e, data, i < safe);
	}
	close(image);
}

static void round_write(struct trace_writer *w, uint64_t first)
{
	for (uint64_t i = first; i < first + ROUND; i++) {
		struct rec_kvm_pio rec = {
			.hdr = {.time = i * 1000, .type = EV_kvm_pio, .size = sizeof(rec)},
			.size = 4,
			.val = (uint32_t)i};

		if (trace_writer_record(w, &rec.hdr))
			errx(1, "%s", error_text());
	}
	if (trace_writer_round(w, (first + ROUND) * 1000))
		errx(1, "%s", error_text());
}

static void write_trace(int fd, const char *name, unsigned long rounds)
{
	struct trace_writer_options opt = {.sync = true, .sync_ns = 1};
	json_t *meta = json_object();
	struct trace_writer *w;
	uint64_t bytes;

	if (trace_writer_open(name, &opt, meta, &w))
		errx(1, "%s", error_text());
	bytes = trace_writer_bytes(w);
	for (unsigned long i = 0; i < rounds; i++) {
		round_write(w, i * ROUND);
		if (trace_writer_bytes(w) != bytes) /* else there was no sync */
			printf("%" PRIu64 " %lu\n", log_entries(fd), (i + 1) * ROUND);
		bytes = trace_writer_bytes(w);
		usleep(PAUSE_US);
	}
	if (trace_writer_close(w, NULL))
		errx(1, "%s", error_text());
	printf("%" PRIu64 " %lu\n", log_entries(fd), rounds * ROUND);
	json_decref(meta);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;

	if (fd < 0)
		err(2, "log");
	if (argc == 3 && !strcmp(argv[1], "entries")) {
		printf("%" PRIu64 "\n", log_entries(fd));
	} else if (argc == 6 && !strcmp(argv[1], "cut")) {
		srandom((unsigned int)strtoul(argv[5], NULL, 10));
		cut(fd, argv[3], strtoull(argv[4], NULL, 10));
	} else if (argc == 5 && !strcmp(argv[1], "write")) {
		write_trace(fd, argv[3], strtoul(argv[4], NULL, 10));
	} else {
		errx(2, "usage: powercut entries|cut|write LOG ...");
	}
	return 0;
}
