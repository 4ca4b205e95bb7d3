// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files are identified by their build ids, read from the very file that is mapped (mapped.h), else by their inodes. The
 * kernel's image is "[kernel.kallsyms]_text", whose offset is the address of its first symbol, and modules are
 * "[NAME]", as in a perf.data.
 */
#include "collector/code_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/mapped.h"
#include "event/event.h"
#include "symbols/running_kernel.h"
#include "vm/proc.h"

enum { KERNEL_PID = -1 };

static json_int_t number_of(const json_t *entry, const char *key)
{
	return json_integer_value(json_object_get(entry, key));
}

static bool is_listed(const json_t *list, pid_t pid, const struct mapping *m)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry) {
		uint64_t start = (uint64_t)number_of(entry, "start"),
			 len = (uint64_t)number_of(entry, "len");

		if (number_of(entry, "pid") == pid && m->from < start + len && start < m->to)
			return true;
	}
	return false;
}

static json_t *entry_make(json_int_t pid, const char *file, uint64_t start, uint64_t len,
			  uint64_t offset)
{
	return json_pack("{s:I, s:I, s:s, s:I, s:I, s:I}", "pid", pid, "time_ns", (json_int_t)0,
			 "file", file, "start", (json_int_t)start, "len", (json_int_t)len, "offset",
			 (json_int_t)offset);
}

static json_t *mapping_describe(pid_t pid, struct mapping *m)
{
	_cleanup_close_ int fd = mapping_open(pid, m);
	struct vm_exe exe = {.build_id = ""};
	char path[64];
	json_t *entry;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		vm_exe_read(path, false, &exe);
	text_sanitize(m->path);
	entry = entry_make(pid, m->path, m->from, m->to - m->from, m->offset);
	if (*exe.build_id)
		json_object_set_new(entry, "build_id", json_string(exe.build_id));
	else if (m->inode <= INT64_MAX)
		json_object_set_new(entry, "inode", json_integer((json_int_t)m->inode));
	return entry;
}

unsigned int code_list_add(json_t *list, pid_t pid, bool again)
{
	_cleanup_fclose_ FILE *f = mappings_open(pid);
	unsigned int beyond = 0;
	struct mapping m;

	while (f && mapping_next(f, &m)) {
		if (!m.code || *m.path != '/' || (again && is_listed(list, pid, &m)))
			continue;
		if (json_array_size(list) >= CODE_LIST_MAX)
			beyond++;
		else
			json_array_append_new(list, mapping_describe(pid, &m));
	}
	return beyond;
}

/* ---- the kernel ---- */

/* From its first to its last symbol of code. */
static void image_add(json_t *list)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[128], id[BUILD_ID_TEXT];
	uint64_t address, start = 0, end = 0;
	json_t *entry;

	while (f && !(start && end) && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %*c %127s", &address, name) != 2)
			continue;
		if (!strcmp(name, "_text"))
			start = address;
		else if (!strcmp(name, "_etext"))
			end = address;
	}
	if (!start || end <= start)
		return;
	entry = entry_make(KERNEL_PID, "[kernel.kallsyms]_text", start, end - start, start);
	running_kernel_id(id);
	if (*id)
		json_object_set_new(entry, "build_id", json_string(id));
	json_array_append_new(list, entry);
}

void code_list_add_kernel(json_t *list)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/modules", "re");
	char line[4096], name[64], file[80];
	uint64_t bytes, address;

	image_add(list);
	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, " 0x");

		if (!at || sscanf(line, "%63s %" SCNu64, name, &bytes) != 2 ||
		    sscanf(at, "%" SCNx64, &address) != 1 || !address)
			continue;
		snprintf(file, sizeof(file), "[%s]", name);
		json_array_append_new(list, entry_make(KERNEL_PID, file, address, bytes, 0));
	}
}
