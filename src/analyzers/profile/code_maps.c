// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A place is the number of a file and an offset in it, as one number that is no address of any machine. Maps are in
 * order of process and time: a look-up goes back from the sample's time to the program that the process executed, and
 * on to the parent's maps where it executed none.
 *
 * The recording is untrusted: it names files of this host, of which only regular ones below code_maps_folders or `root`
 * are opened, and only for their symbols.
 */
#include "analyzers/profile/code_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "base/order.h"
#include "symbols/code_function.h"
#include "symbols/frame_cache.h"
#include "symbols/running_kernel.h"
#include "symbols/symbol_map.h"

#define PLACES_AT 0x5b00000000000000ull

enum {
	PLACE_FILE_SHIFT = 40, /* offsets have 40 bits, files 16 */
	FILES_MAX = 1 << 16,
	NAMES_MAX = 1 << 17,   /* FILE+OFFSET */
	LOOK_BACK_MAX = 4096,  /* maps looked at for one address */
	NOTED_FILES = 3,       /* named in the caveat */
};

#define KERNEL_PID UINT32_MAX

const char *const code_maps_folders[] = {"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64", NULL};

/* A file as one recording mapped it. */
struct code_file {
	const char *key; /* owned: name and identity; of `by_key` */
	const char *name, *base, *build_id; /* owned by the metadata; build_id NULL: unknown */
	uint64_t inode;	 /* 0: unknown */
	struct elf_names *elf; /* NULL: not opened, or not usable */
	const char *why;       /* it has no names, once it was tried */
	bool tried;
	uint64_t named, unnamed; /* addresses */
};

struct file_key {
	const char *key;
	uint32_t number;
};

enum map_kind { MAP_CODE, MAP_FORK, MAP_EXEC };

struct code_map {
	uint64_t time_ns, start, end, offset;
	uint32_t pid, file, parent, order;
	enum map_kind kind;
};

struct place_name {
	char *text; /* owned */
};

struct code_maps {
	struct host_code host;
	json_t *maps;
	bool of_this_host; /* the recording says so */
	struct code_map *map;
	size_t nr_maps;
	struct code_file *file;
	uint32_t nr_files;
	struct hash_table by_key, names;
	struct frame_cache places; /* of files */
	struct symbol_map *kernel; /* this host's; NULL: none, or of another kernel */
	const char *kernel_why;	   /* there is none; NULL: no kernel code was looked up */
	bool kernel_tried;
	uint64_t kernel_unnamed;
};

/* ---- open and close ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The number of a file; FILES_MAX: too many. */
static uint32_t file_number(struct code_maps *m, const json_t *entry)
{
	const char *name = json_string_value(json_object_get(entry, "file")),
		   *id = json_string_value(json_object_get(entry, "build_id"));
	uint64_t inode = (uint64_t)json_integer_value(json_object_get(entry, "inode"));
	struct file_key *known;
	char *key;
	bool first;

	if (!name || asprintf(&key, "%s %s %" PRIu64, name, id ? id : "", inode) < 0)
		return FILES_MAX;
	known = hash_add_text(&m->by_key, key, &first);
	if (!known || !first || array_room(m->file, m->nr_files)) {
		free(key);
		return known && !first ? known->number : FILES_MAX;
	}
	known->number = m->nr_files;
	m->file[m->nr_files] = (struct code_file){.key = key, .name = name,
						  .base = base_name(name), .build_id = id,
						  .inode = inode};
	return m->nr_files++;
}

static uint64_t number_of(const json_t *entry, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(entry, key));
}

static int map_add(struct code_maps *m, const json_t *entry)
{
	struct code_map map = {.pid = (uint32_t)number_of(entry, "pid"),
			       .time_ns = number_of(entry, "time_ns"),
			       .start = number_of(entry, "start"),
			       .offset = number_of(entry, "offset"),
			       .parent = (uint32_t)number_of(entry, "parent"),
			       .order = (uint32_t)m->nr_maps};

	map.end = map.start + number_of(entry, "len");
	map.kind = json_is_true(json_object_get(entry, "exec")) ? MAP_EXEC
		   : json_object_get(entry, "parent")		? MAP_FORK
								: MAP_CODE;
	if (map.kind == MAP_CODE)
		map.file = file_number(m, entry);
	if (map.kind == MAP_CODE && (map.file == FILES_MAX || map.end < map.start))
		return 0;
	return array_add(m->map, m->nr_maps, map);
}

static int by_pid_and_time(const void *a, const void *b)
{
	const struct code_map *x = a, *y = b;

	return order_u64(x->pid, y->pid) ?: order_u64(x->time_ns, y->time_ns) ?:
	       order_u64(x->order, y->order);
}

static bool is_this_host(const char *name)
{
	struct utsname un;

	return name && !uname(&un) && !strcmp(name, un.nodename);
}

int code_maps_open(const struct trace_info *info, const struct host_code *host,
		   struct code_maps **ret)
{
	json_t *maps = json_object_get(info->meta, "code_maps"), *entry;
	struct code_maps *m;
	size_t i;
	int err = 0;

	if (!json_is_array(maps) || !json_array_size(maps))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return fail(-ENOMEM, "out of memory");
	m->host = *host;
	m->maps = json_incref(maps);
	m->of_this_host = is_this_host(json_string_value(json_object_get(info->meta, "host")));
	m->by_key = HASH_TABLE_OF_TEXTS(struct file_key, FILES_MAX);
	frame_cache_init(&m->places);
	m->names = HASH_TABLE_OF_TEXTS(struct place_name, NAMES_MAX);
	json_array_foreach (maps, i, entry)
		err = err ? err : map_add(m, entry);
	if (m->nr_maps)
		qsort(m->map, m->nr_maps, sizeof(*m->map), by_pid_and_time);
	if (err)
		code_maps_close(m);
	else
		*ret = m;
	return err;
}

void code_maps_close(struct code_maps *m)
{
	const struct place_name *name;

	if (!m)
		return;
	for (uint32_t i = 0; i < m->nr_files; i++) {
		elf_names_close(m->file[i].elf);
		free((char *)m->file[i].key);
	}
	for (uint32_t at = 0; (name = hash_next(&m->names, &at));)
		free(name->text);
	frame_cache_deinit(&m->places);
	hash_deinit(&m->names);
	hash_deinit(&m->by_key);
	symbol_map_close(m->kernel);
	json_decref(m->maps);
	free(m->file);
	free(m->map);
	free(m);
}

/* ---- where an address is ---- */

static const struct code_map *map_find(const struct code_maps *m, uint32_t pid, uint64_t time_ns,
				       uint64_t address)
{
	size_t left = LOOK_BACK_MAX;
	size_t i = array_prefix(m->nr_maps, at,
				m->map[at].pid < pid || (m->map[at].pid == pid &&
							 m->map[at].time_ns <= time_ns));

	while (i-- && left-- && m->map[i].pid == pid && m->map[i].kind != MAP_EXEC) {
		const struct code_map *map = &m->map[i];

		if (map->kind == MAP_CODE && address - map->start < map->end - map->start)
			return map;
		if (map->kind != MAP_FORK)
			continue;
		pid = map->parent;
		time_ns = map->time_ns;
		i = array_prefix(m->nr_maps, at,
				 m->map[at].pid < pid || (m->map[at].pid == pid &&
							  m->map[at].time_ns <= time_ns));
	}
	return NULL;
}

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

uint64_t code_maps_place(struct code_maps *m, uint32_t pid, uint64_t time_ns, uint64_t address)
{
	const struct code_map *map =
		is_kernel(address) ? NULL : map_find(m, pid, time_ns, address);
	uint64_t offset = map ? address - map->start + map->offset : 0;

	if (!map || offset >> PLACE_FILE_SHIFT)
		return address;
	return PLACES_AT | (uint64_t)map->file << PLACE_FILE_SHIFT | offset;
}

/* ---- files ---- */

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (path[len] == '/' || !path[len]);
}

static bool in_folders(const char *path)
{
	for (size_t i = 0; code_maps_folders[i]; i++)
		if (is_below(path, code_maps_folders[i]))
			return true;
	return false;
}

/*
 * The file's path on this host, or NULL: it is none that may be opened, and f->why says so. To be freed. What is above
 * `root` may not be readable, so that its links cannot be resolved.
 */
static char *file_path(const struct code_maps *m, struct code_file *f, struct stat *st)
{
	const char *root = m->host.root ? m->host.root : "";
	_cleanup_free_ char *wanted = NULL, *path = NULL;

	f->why = "it is not on this host";
	if (f->name[0] != '/' || f->name[1] == '/' || strstr(f->name, "/../") ||
	    asprintf(&wanted, "%s%s", root, f->name) < 0)
		return NULL;
	if (*root)
		f->why = "it is not below the directory of --symfs";
	path = *root ? take_ptr(wanted) : realpath(wanted, NULL);
	if (path && !*root && !in_folders(path)) {
		f->why = "it is in no system folder, --symfs / reads it";
		return NULL;
	}
	if (!path || stat(path, st) || !S_ISREG(st->st_mode))
		return NULL;
	return take_ptr(path);
}

/* An inode says something on the host that recorded it only, or if the user says which files they are. */
static bool is_same(const struct code_maps *m, struct code_file *f, const struct stat *st)
{
	char text[BUILD_ID_TEXT];
	uint8_t id[64];

	f->why = f->build_id ? "it has another build id"
			     : "its build id is not recorded, and its inode differs";
	if (!f->build_id)
		return f->inode && f->inode == st->st_ino && (m->of_this_host || m->host.root);
	build_id_print(id, elf_names_build_id(f->elf, id, sizeof(id)), text);
	return !strncmp(f->build_id, text, strlen(text)) && *text;
}

static void file_open(const struct code_maps *m, struct code_file *f)
{
	struct stat st;
	_cleanup_free_ char *path = file_path(m, f, &st);

	f->tried = true;
	if (!path)
		return;
	if (elf_names_open_at(path, 0, &f->elf)) {
		debug("symbols", "%s", error_text());
		f->why = "it cannot be read as an ELF file";
		f->elf = NULL;
	} else if (!is_same(m, f, &st)) {
		elf_names_close(f->elf);
		f->elf = NULL;
	} else {
		f->why = "it is stripped of their symbols";
	}
}

/* "FILE+0xOFFSET"; NULL: too many. */
static const char *place_name(struct code_maps *m, const char *base, uint64_t offset)
{
	struct place_name *known;
	char *text;
	bool first;

	if (asprintf(&text, "%s+0x%" PRIx64, base, offset) < 0)
		return NULL;
	known = hash_add_text(&m->names, text, &first);
	if (!known || !first)
		free(text);
	return known ? known->text : NULL;
}

static unsigned int file_resolve(struct code_maps *m, struct code_file *f, uint64_t offset,
				 const struct sample_resolve *how,
				 struct frame ret[FRAME_INLINES_MAX])
{
	uint64_t address = offset;
	unsigned int nr = 0;

	if (!f->tried && !how->none)
		file_open(m, f);
	if (f->elf && !how->none && elf_names_of_offset(f->elf, offset, &address))
		nr = elf_names_resolve(f->elf, address, !how->no_inlines, ret);
	f->named += nr > 0;
	if (!nr) {
		f->unnamed++;
		ret[0] = (struct frame){.address = address,
					.name = place_name(m, f->base, offset)};
		nr = ret[0].name != NULL;
	}
	for (unsigned int i = 0; i < nr; i++)
		ret[i].dso = f->base;
	return nr;
}

/* ---- the kernel ---- */

/* The recording's kernel image: "[kernel.kallsyms]_text" was mapped at its first symbol's address. */
static const struct code_map *image_find(const struct code_maps *m)
{
	for (size_t i = m->nr_maps; i-- && m->map[i].pid == KERNEL_PID;)
		if (m->map[i].kind == MAP_CODE &&
		    !strncmp(m->file[m->map[i].file].name, "[kernel.kallsyms]", 17))
			return &m->map[i];
	return NULL;
}

/* Is there a symbol's beginning? */
static bool begins_at(const struct symbol_map *map, uint64_t address)
{
	const char *here = symbol_map_find(map, address),
		   *before = symbol_map_find(map, address - 1);

	return here && here != before;
}

static const char *kernel_open(struct code_maps *m)
{
	const struct code_map *image = image_find(m);
	const char *id = image ? m->file[image->file].build_id : NULL;
	char running[BUILD_ID_TEXT];

	running_kernel_id(running);
	if (!id)
		return "the recording does not say which kernel it was";
	if (!*running || strncmp(id, running, strlen(running)) != 0)
		return "the recording is of another kernel than this host's";
	if (!m->host.kallsyms ||
	    symbol_map_read(m->host.kallsyms, "/proc/kallsyms", &m->kernel)) {
		debug("symbols", "%s", error_text());
		return "/proc/kallsyms cannot be read (as root, it can)";
	}
	if (begins_at(m->kernel, image->offset))
		return NULL;
	symbol_map_close(m->kernel);
	m->kernel = NULL;
	return "the kernel has other addresses since it was booted again";
}

/* "[kvm]" for "/lib/modules/.../kvm.ko.xz" and "[kvm]"; of the image "[kernel]". */
static bool in_module(const struct code_file *f, const char *name)
{
	const char *module = strrchr(name, '['), *base = f->base + (*f->base == '[');

	if (!strncmp(f->base, "[kernel", 7))
		return !module;
	if (!module)
		return false;
	for (module++; *module && *module != ']'; module++, base++)
		if (*module != *base && !(*module == '_' && *base == '-'))
			return false;
	return *base == '.' || *base == ']';
}

static unsigned int kernel_resolve(struct code_maps *m, uint64_t address,
				   const struct sample_resolve *how, struct frame *ret)
{
	const struct code_map *map = map_find(m, KERNEL_PID, UINT64_MAX, address);
	const struct code_file *f = map ? &m->file[map->file] : NULL;
	const char *name;

	if (how->none)
		return 0;
	if (!m->kernel_tried)
		m->kernel_why = kernel_open(m);
	m->kernel_tried = true;
	name = m->kernel && f ? symbol_map_find(m->kernel, address) : NULL;
	if (name && !in_module(f, name))
		name = NULL;
	m->kernel_unnamed += !name;
	*ret = (struct frame){.address = address, .name = name};
	return name != NULL;
}

unsigned int code_maps_resolve(struct code_maps *m, uint64_t place,
			       const struct sample_resolve *how,
			       struct frame ret[FRAME_INLINES_MAX])
{
	uint64_t file = place >> PLACE_FILE_SHIFT & (FILES_MAX - 1);
	unsigned int nr;

	if (is_kernel(place))
		return kernel_resolve(m, place, how, ret);
	if (place >> 56 != PLACES_AT >> 56 || file >= m->nr_files)
		return 0;
	if (frame_cache_get(&m->places, place, ret, &nr))
		return nr;
	nr = file_resolve(m, &m->file[file], place & ((1ull << PLACE_FILE_SHIFT) - 1), how, ret);
	frame_cache_put(&m->places, place, ret, nr);
	return nr;
}

static bool kernel_function(struct code_maps *m, uint64_t address, struct code_function *ret)
{
	const struct sample_resolve how = {0};
	struct frame frame;

	if (!kernel_resolve(m, address, &how, &frame))
		return false;
	ret->name = symbol_map_range(m->kernel, address, &ret->start, &ret->size);
	ret->size -= ret->start;
	ret->dso = strrchr(ret->name, '[');
	ret->dso = ret->dso ? ret->dso : "[kernel]";
	return true;
}

bool code_maps_function(struct code_maps *m, uint64_t place, struct code_function *ret)
{
	uint64_t number = place >> PLACE_FILE_SHIFT & (FILES_MAX - 1), address;
	struct code_file *f = number < m->nr_files ? &m->file[number] : NULL;

	*ret = (struct code_function){0};
	if (is_kernel(place))
		return kernel_function(m, place, ret);
	if (place >> 56 != PLACES_AT >> 56 || !f)
		return false;
	if (!f->tried)
		file_open(m, f);
	if (!f->elf ||
	    !elf_names_of_offset(f->elf, place & ((1ull << PLACE_FILE_SHIFT) - 1), &address) ||
	    !elf_names_function(f->elf, address, ret)) {
		f->unnamed++;
		return false;
	}
	f->named++;
	ret->dso = f->base;
	ret->start += place - address;
	return true;
}

/* Those in vdso and the like have no file. */
static bool lacks_names(const struct code_file *f)
{
	return f->unnamed && !f->named && f->tried && f->name[0] == '/' && f->name[1] != '/';
}

unsigned int code_maps_missing(const struct code_maps *m, char ret[CODE_MAPS_MISSING_BYTES])
{
	unsigned int nr = 0;
	size_t len = 0;

	*ret = '\0';
	for (uint32_t i = 0; i < m->nr_files; i++) {
		const struct code_file *f = &m->file[i];

		if (!lacks_names(f) || nr++ >= NOTED_FILES)
			continue;
		len += (size_t)snprintf(ret + len, CODE_MAPS_MISSING_BYTES - len, "%s%.120s (%s)",
					len ? ", " : "", f->name, f->why);
	}
	if (nr > NOTED_FILES)
		snprintf(ret + len, CODE_MAPS_MISSING_BYTES - len, ", ...");
	return nr;
}

void code_maps_caveats(const struct code_maps *m, struct trace_info *info)
{
	char files[CODE_MAPS_MISSING_BYTES];

	if (code_maps_missing(m, files))
		trace_info_caveat(info, "%s: code without names: %s", info->file, files);
	if (m->kernel_why)
		trace_info_caveat(info,
				  "%s: the kernel's code has no names: %s (--symbols KALLSYMS)",
				  info->file, m->kernel_why);
}
