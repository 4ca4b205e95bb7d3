// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call chains of samples (perf record -g), each an event after its sample (event/call_chain.h), and what names their
 * addresses: the metadata's "code_maps" has which file was mapped where, when, in which process.
 *
 * A chain is the instruction pointer and return addresses, innermost first; markers (PERF_CONTEXT_KERNEL, ..._USER)
 * precede the kernel's and the user space's. Addresses show the same, so the markers are dropped. What follows a
 * guest's marker is a guest's, which no map of the host names.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "base/error.h"
#include "event/call_chain.h"
#include "readers/perf/perfdata_scan.h"

enum {
	MAPS_MAX = 32768,
	MAP_FILE_BYTES = 4096,
	BUILD_ID_MAX = 20,
	DEVICE_BYTES = 24, /* of a MMAP2 record: device, inode and generation, or a build id with its size */
};

/* An address of the host's, not a marker. */
static bool chain_is_frame(uint64_t v)
{
	return v && v < PERF_CONTEXT_MAX;
}

static bool chain_is_guest(uint64_t v)
{
	return v == PERF_CONTEXT_GUEST || v == PERF_CONTEXT_GUEST_KERNEL ||
	       v == PERF_CONTEXT_GUEST_USER;
}

bool perfdata_chain_any(const uint8_t *chain, size_t nr)
{
	uint64_t v;

	for (size_t i = 0; i < nr; i++) {
		memcpy(&v, chain + 8 * i, sizeof(v));
		if (chain_is_frame(v) || chain_is_guest(v))
			return chain_is_frame(v);
	}
	return false;
}

static void chain_read(struct perfdata *p, const struct perfdata_sample *s, struct call_chain *c)
{
	uint64_t v;

	for (size_t i = 0; i < s->nr_chain; i++) {
		memcpy(&v, s->chain + 8 * i, sizeof(v));
		p->chains.guests += chain_is_guest(v);
		if (chain_is_guest(v))
			return;
		if (!chain_is_frame(v))
			continue;
		if (c->size == CALL_CHAIN_FRAMES_MAX) {
			p->chains.cut++;
			return;
		}
		c->frame[c->size++] = v;
	}
}

int perfdata_chain_add(struct perfdata *p, const struct perfdata_sample *s)
{
	struct call_chain c = {.hdr = perfdata_head_of(p, s)};
	size_t size = CALL_CHAIN_RECORD_MIN;

	if (!s->nr_chain || !p->chains.type || !perfdata_chain_any(s->chain, s->nr_chain))
		return 0;
	chain_read(p, s, &c);
	if (c.size > CALL_CHAIN_FRAMES_SHOWN)
		size = offsetof(struct call_chain, frame) + 8ul * c.size;
	return perfdata_record_add(p, p->chains.type, (const uint8_t *)&c, size);
}

/* ---- the metadata ---- */

/* Steals `map`. */
static void map_add(struct perfdata *p, const struct perfdata_record *rec, uint32_t pid,
		    json_t *map)
{
	json_t *maps = json_object_get(p->reader.info.meta, "code_maps");
	struct perfdata_sample at;

	perfdata_trailer_parse(&p->file, rec, &at);
	if (json_array_size(maps) == MAPS_MAX) {
		p->chains.maps_beyond++;
		json_decref(map);
		return;
	}
	json_object_set_new(map, "pid", json_integer((int32_t)pid));
	json_object_set_new(map, "time_ns", json_integer((json_int_t)at.time));
	json_array_append_new(maps, map);
}

static const char kernel_image[] = "[kernel.kallsyms]";

/* Of the file when it was mapped, else of when the recording ended. */
static void map_identify(struct perfdata *p, const struct perfdata_record *rec,
			 const uint8_t *device, const char *file, json_t *map)
{
	char text[2 * BUILD_ID_MAX + 1] = "";
	json_t *known = json_object_get(p->file.build_ids, file);
	uint64_t inode = 0;

	if (!strncmp(file, kernel_image, strlen(kernel_image))) /* and the name of its first symbol */
		known = json_object_get(p->file.build_ids, kernel_image);

	if (device && rec->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		for (unsigned int i = 0; i < device[0] && i < BUILD_ID_MAX; i++)
			snprintf(text + 2ul * i, 3, "%02x", device[4 + i]);
		known = NULL;
	} else if (device) {
		memcpy(&inode, device + 8, sizeof(inode));
	}
	if (*text)
		json_object_set_new(map, "build_id", json_string(text));
	else if (known)
		json_object_set(map, "build_id", known);
	else if (inode && inode <= INT64_MAX)
		json_object_set_new(map, "inode", json_integer((json_int_t)inode));
}

int perfdata_map_take(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	uint32_t pid = buffer_u32(&b), tid = buffer_u32(&b), prot = PROT_EXEC;
	uint64_t start = buffer_u64(&b), len = buffer_u64(&b), offset = buffer_u64(&b);
	const uint8_t *device = NULL;
	char file[MAP_FILE_BYTES];
	size_t name_len;
	json_t *map;

	(void)tid;
	if (rec->type == PERFDATA_MMAP2) {
		device = buffer_bytes(&b, DEVICE_BYTES);
		prot = buffer_u32(&b);
		buffer_u32(&b); /* flags */
	}
	name_len = strnlen((const char *)b.pos, buffer_left(&b));
	if (b.cut || !name_len || name_len == buffer_left(&b) || name_len >= sizeof(file) ||
	    !(prot & PROT_EXEC) || (!device && rec->misc & PERF_RECORD_MISC_MMAP_DATA))
		return 0;
	memcpy(file, b.pos, name_len + 1);
	map = json_pack("{s:I, s:I, s:I}", "start", (json_int_t)start, "len", (json_int_t)len,
			"offset", (json_int_t)offset);
	map_identify(p, rec, device, file, map);
	text_sanitize(file);
	json_object_set_new(map, "file", json_string(file));
	map_add(p, rec, pid, map);
	return 0;
}

/*
 * A new process has the maps of its parent until it executes a program. One that perf found when it began, which has
 * the time 0, may have executed one.
 */
void perfdata_map_fork(struct perfdata *p, const struct perfdata_record *rec, uint32_t pid,
		       uint32_t parent)
{
	struct perfdata_sample at;

	perfdata_trailer_parse(&p->file, rec, &at);
	if (pid != parent && at.time && p->chains.type)
		map_add(p, rec, pid, json_pack("{s:I}", "parent", (json_int_t)parent));
}

void perfdata_map_exec(struct perfdata *p, const struct perfdata_record *rec, uint32_t pid)
{
	if (rec->misc & PERF_RECORD_MISC_COMM_EXEC && p->chains.type)
		map_add(p, rec, pid, json_pack("{s:b}", "exec", 1));
}

void perfdata_chains_begin(struct perfdata *p)
{
	p->chains = (struct perfdata_chains){.type = call_chain_type(p->guest, false)};
	json_object_set_new(p->reader.info.meta, "code_maps", json_array());
}

void perfdata_chains_end(struct perfdata *p)
{
	struct trace_info *info = &p->reader.info;

	if (p->chains.cut)
		trace_info_caveat(info,
				  "%s: frames beyond the first %d of a call chain are missing "
				  "(such call chains: %" PRIu64 ")",
				  info->file, CALL_CHAIN_FRAMES_MAX, p->chains.cut);
	if (p->chains.guests)
		trace_info_caveat(info,
				  "%s: frames in a guest are not shown (call chains with such "
				  "frames: %" PRIu64 ")",
				  info->file, p->chains.guests);
	if (p->chains.maps_beyond)
		trace_info_caveat(info,
				  "%s: mapped files beyond the first %d are ignored: their code "
				  "has no names (%" PRIu64 ")",
				  info->file, MAPS_MAX, p->chains.maps_beyond);
}
