// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `perf record --threads` writes a directory: `data` is a perf.data without samples, and data.0,
 * data.1, ... have the records of the CPUs that each of its threads reads, without a head and
 * without FINISHED_ROUND. Those of one CPU are in order of time, so the next record is the oldest
 * of those that come next in each file; records without a time, as names of threads from the
 * beginning, come at once. A thread that reads several CPUs empties one buffer after the other:
 * what is out of order then waits in event/pending.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/open_files.h"
#include "event/reader.h"
#include "readers/perf/perfdata.h"
#include "readers/perf/perfdata_file.h"
#include "readers/perf/perfdata_scan.h"

enum { PARTS_MAX = PERFDATA_CPUS_MAX, PART_BYTES = 128 << 10 };

struct part {
	struct perfdata_file file; /* of which only the place of the records is used */
	struct perfdata_stream stream;
	struct perfdata_record record; /* the next one */
	uint64_t time;
	bool has_record, ended;
};

struct perfdata_parts {
	struct part **part; /* of the directory's `data`, and data.0, ... */
	size_t nr;
	unsigned int nr_files; /* data.N */
	unsigned int missing;  /* the first that is not there though a later one is; UINT_MAX: none */
};

static int part_add(struct perfdata_parts *p, const struct perfdata_file *f, int fd, uint64_t at,
		    uint64_t end, struct ftrace_events *events)
{
	struct part *part = calloc(1, sizeof(*part));
	int err = part ? array_room(p->part, p->nr) : -ENOMEM;

	if (err) {
		free(part);
		close(fd);
		return fail(-ENOMEM, "%s: out of memory", f->path);
	}
	part->file = (struct perfdata_file){
		.fd = fd, .path = f->path, .bytes = end, .data_at = at, .data_end = end};
	p->part[p->nr++] = part;
	return perfdata_stream_init(&part->stream, &part->file, events, PART_BYTES);
}

/* data.N: 1; 0: there is none. */
static int part_open(struct perfdata_parts *p, const struct perfdata_file *f, unsigned int number,
		     struct ftrace_events *events)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int fd, err;

	if (asprintf(&path, "%s/data.%u", f->path, number) < 0)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	if (access(path, F_OK))
		return 0;
	fd = open_files_get(f->files, path);
	if (fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st)) {
		close(fd);
		return fail(-errno, "%s: %s", path, strerror(errno));
	}
	err = part_add(p, f, fd, 0, (uint64_t)st.st_size, events);
	return err ? err : 1;
}

int perfdata_parts_open(const struct perfdata_file *f, struct ftrace_events *events,
			struct perfdata_parts **ret)
{
	struct perfdata_parts *p = *ret = calloc(1, sizeof(*p));
	int fd = p ? dup(f->fd) : -1, more = 1;

	if (fd < 0)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	int err = part_add(p, f, fd, f->data_at, f->data_end, events);
	unsigned int missing = UINT_MAX;

	p->missing = UINT_MAX;
	for (unsigned int i = 0; !err && i < PARTS_MAX && (more || i < f->nr_cpus); i++) {
		more = part_open(p, f, i, events);
		err = more < 0 ? more : 0;
		p->nr_files += more > 0;
		if (more > 0)
			p->missing = missing;
		else if (missing == UINT_MAX)
			missing = i;
	}
	return err;
}

static int alone_refuse(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	fail(-EINVAL, "%s is one of the files that perf record --threads writes to a directory",
	     path);
	return fail_hint(-EINVAL,
			 "name the directory, which must have all of them (data, data.0, ...): "
			 "-i %s",
			 copy ? dirname(copy) : "DIRECTORY");
}

int perfdata_parts_demand(const struct perfdata_file *f)
{
	return f->has_parts && !f->directory ? alone_refuse(f->path) : 0;
}

/* Are these the first bytes of records without a head, as those of data.0? */
static bool is_part(const uint8_t *head, size_t len)
{
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned int nr = 0;

	for (size_t at = 0; at + PERFDATA_HEAD + sizeof(zstd) <= len; nr++) {
		uint32_t type;
		uint16_t size;

		memcpy(&type, head + at, sizeof(type));
		memcpy(&size, head + at + 6, sizeof(size));
		if (!nr && (type == PERFDATA_COMPRESSED || type == PERFDATA_COMPRESSED2))
			return !memcmp(head + PERFDATA_HEAD, zstd, sizeof(zstd)) ||
			       !memcmp(head + 2 * PERFDATA_HEAD, zstd, sizeof(zstd));
		if (!type || type > PERFDATA_COMPRESSED2 || size < PERFDATA_HEAD || size % 8)
			return false;
		at += size;
	}
	return nr > 1;
}

int perfdata_part_refuse(const char *path, const uint8_t *head, size_t len)
{
	return is_part(head, len) ? alone_refuse(path) : 0;
}

void perfdata_parts_caveat(const struct perfdata_parts *p, const struct perfdata_file *f,
			   struct trace_info *info)
{
	uint32_t counted = f->nr_attrs ? f->nr_ids / f->nr_attrs : 0;

	counted = counted < f->nr_cpus ? counted : f->nr_cpus;
	if (p->missing != UINT_MAX)
		trace_info_caveat(info, "%s: data.%u is missing: so are the records of its CPUs",
				  f->path, p->missing);
	else if (f->has_parts && p->nr_files < counted)
		trace_info_caveat(info,
				  "%s: there are %u files data.N, and perf counted on %" PRIu32
				  " CPUs: was the directory copied whole? (A file has more than "
				  "one CPU after perf record --threads=core, package or numa.)",
				  f->path, p->nr_files, counted);
}

void perfdata_parts_close(struct perfdata_parts *p)
{
	for (size_t i = 0; p && i < p->nr; i++) {
		perfdata_stream_deinit(&p->part[i]->stream);
		close(p->part[i]->file.fd);
		free(p->part[i]);
	}
	if (p)
		free(p->part);
	free(p);
}

/* 0: unknown */
static uint64_t time_of(const struct perfdata_file *f, const struct perfdata_record *rec)
{
	struct perfdata_sample s;

	if (rec->type == PERFDATA_SAMPLE)
		return perfdata_sample_parse(f, rec, &s) || !s.have_time ? 0 : s.time;
	perfdata_trailer_parse(f, rec, &s);
	return s.have_time ? s.time : 0;
}

static int part_fill(struct part *part, const struct perfdata_file *f)
{
	int more;

	if (part->has_record || part->ended)
		return 0;
	more = perfdata_stream_next(&part->stream, &part->record);
	part->has_record = more > 0;
	part->ended = more <= 0;
	part->time = more > 0 ? time_of(f, &part->record) : 0;
	return more < 0 ? more : 0;
}

int perfdata_parts_next(struct perfdata_parts *p, const struct perfdata_file *f,
			struct perfdata_record *ret, bool *cut)
{
	struct part *first = NULL;

	for (size_t i = 0; i < p->nr; i++) {
		struct part *part = p->part[i];
		int err = part_fill(part, f);

		if (err)
			return err;
		*cut |= part->stream.cut;
		if (part->has_record && (!first || part->time < first->time))
			first = part;
	}
	if (!first)
		return 0;
	first->has_record = false;
	*ret = first->record;
	return 1;
}
