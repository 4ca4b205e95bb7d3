// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading QEMU's options. An option's value is a list "KEY=VALUE,KEY=VALUE", where the first KEY=
 * may be skipped if the option has an implied one, a comma within a value is doubled, and libvirt
 * writes JSON instead. An option given twice: the later keys win (QEMU's -machine, -m, -smp merge).
 */
#include <ctype.h>
#include <errno.h>

#include <jansson.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/saturate.h"
#include "event/event.h"
#include "vm/cmdline.h"

#define MIB (UINT64_C(1) << 20)

enum {
	MEMORY_DEFAULT_MIB = 128, /* QEMU's, unless the machine has another */
	KEYS_MAX = 64,		  /* keys of one option; the rest is skipped */
	CPUS_MAX = 65536,
	OPTION_DEPTH = 8, /* of JSON */
};

/* What only makes sense once all options are read. */
struct parse {
	struct vm_cmdline *out;
	uint64_t cpus, maxcpus, topology;
	uint64_t memory, backend_bytes; /* 0: not given */
	char backend[CMDLINE_TEXT_MAX];
	char gdb_device[64]; /* the id of a -chardev; "": none */
};

struct pair {
	char key[64], value[CMDLINE_TEXT_MAX];
};

/* Copies one item of the list, "," ends it and ",," is a comma. Returns the text after it. */
static const char *item_next(const char *p, char *buf, size_t size)
{
	size_t n = 0;

	for (; *p; p++) {
		if (*p == ',') {
			if (p[1] != ',') {
				p++;
				break;
			}
			p++;
		}
		if (n + 1 < size)
			buf[n++] = *p;
	}
	buf[n] = '\0';
	text_sanitize(buf);
	return p;
}

/* Splits "VALUE,KEY=VALUE,FLAG"; returns the number of pairs. */
static unsigned int pairs_split(const char *text, const char *implied, struct pair *pairs)
{
	unsigned int nr = 0;

	while (*text && nr < KEYS_MAX) {
		struct pair *p = &pairs[nr];
		char item[CMDLINE_TEXT_MAX], *eq;

		text = item_next(text, item, sizeof(item));
		eq = strchr(item, '=');
		if (eq)
			*eq++ = '\0';
		if (!eq && !nr && implied) {
			snprintf(p->key, sizeof(p->key), "%s", implied);
			snprintf(p->value, sizeof(p->value), "%s", item);
		} else {
			snprintf(p->key, sizeof(p->key), "%.63s", item);
			snprintf(p->value, sizeof(p->value), "%s", eq ? eq : "on");
		}
		nr++;
	}
	return nr;
}

static const char *pair_value(const struct pair *pairs, unsigned int nr, const char *key)
{
	const char *value = NULL;

	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(pairs[i].key, key))
			value = pairs[i].value;
	return value;
}

/* Sizes as QEMU has them: 1.5G, 512k, a bare number in `unit`. 0 if it is none. */
static uint64_t size_parse(const char *text, uint64_t unit)
{
	static const char letters[] = "bkmgtpe";
	char *end;
	double v =
		strncasecmp(text, "0x", 2) ? strtod(text, &end) : (double)strtoull(text, &end, 16);
	const char *letter = *end ? strchr(letters, tolower((unsigned char)*end)) : NULL;

	if (end == text || !(v > 0))
		return 0;
	if (letter)
		unit = UINT64_C(1) << 10 * (letter - letters);
	v *= (double)unit;
	return v < 0x1p63 ? uint64_of_double(v) : 0;
}

static void text_set(char **to, const char *value)
{
	char *copy = strndup(value, CMDLINE_TEXT_MAX);

	if (!copy)
		return;
	text_sanitize(copy);
	free(*to);
	*to = copy;
}

static void device_add(struct parse *p, const char *text)
{
	struct vm_cmdline *c = p->out;

	if (c->nr_devices == CMDLINE_DEVICES_MAX || array_room(c->devices, c->nr_devices))
		return;
	c->devices[c->nr_devices] = NULL;
	text_set(&c->devices[c->nr_devices], text);
	c->nr_devices += !!c->devices[c->nr_devices];
}

/* ---- an option on its own ---- */

static void flat_add(json_t *flat, const char *key, const json_t *value, unsigned int depth);

static void flat_members(json_t *flat, const char *prefix, const json_t *of, unsigned int depth)
{
	const char *key;
	json_t *value;
	char whole[128];
	size_t i;

	json_object_foreach ((json_t *)of, key, value) {
		snprintf(whole, sizeof(whole), "%.63s%s%.63s", prefix, *prefix ? "." : "", key);
		flat_add(flat, whole, value, depth);
	}
	json_array_foreach (of, i, value) {
		snprintf(whole, sizeof(whole), "%.63s.%zu", prefix, i);
		flat_add(flat, whole, value, depth);
	}
}

static void flat_add(json_t *flat, const char *key, const json_t *value, unsigned int depth)
{
	char text[CMDLINE_TEXT_MAX];

	if (json_object_size(flat) >= KEYS_MAX)
		return;
	if (json_is_object(value) || json_is_array(value)) {
		if (depth)
			flat_members(flat, key, value, depth - 1);
		return;
	}
	if (json_is_string(value))
		snprintf(text, sizeof(text), "%s", json_string_value(value));
	else
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	text_sanitize(text);
	json_object_set_new(flat, key, json_string(text));
}

json_t *vm_option_values(const char *value, const char *implied)
{
	json_t *flat = json_object(), *json;
	struct pair pairs[KEYS_MAX];
	unsigned int nr;

	if (*value == '{') {
		json = json_loads(value, 0, NULL);
		flat_members(flat, "", json, OPTION_DEPTH);
		json_decref(json);
		return flat;
	}
	nr = pairs_split(value, implied, pairs);
	for (unsigned int i = 0; i < nr; i++)
		json_object_set_new(flat, pairs[i].key, json_string(pairs[i].value));
	return flat;
}

/* ---- the options ---- */

static void take_name(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	const char *name = pair_value(pairs, pairs_split(value, "guest", pairs), "guest");

	if (name)
		text_set(&p->out->name, name);
}

static void take_uuid(struct parse *p, const char *value)
{
	text_set(&p->out->uuid, value);
}

static void take_machine(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	unsigned int nr = pairs_split(value, "type", pairs);
	const char *type = pair_value(pairs, nr, "type"), *accel = pair_value(pairs, nr, "accel");
	const char *backend = pair_value(pairs, nr, "memory-backend");
	const char *memory = pair_value(pairs, nr, "memory.size"),
		   *cpus = pair_value(pairs, nr, "smp.cpus");

	if (type)
		text_set(&p->out->machine, type);
	if (accel)
		text_set(&p->out->accel, accel);
	if (backend)
		snprintf(p->backend, sizeof(p->backend), "%s", backend);
	if (memory)
		p->memory = size_parse(memory, 1);
	if (cpus)
		p->cpus = strtoull(cpus, NULL, 0);
}

/* -accel may be given more than once: tried in order, like "kvm:tcg" of -machine accel=. */
static void take_accel(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	const char *name = pair_value(pairs, pairs_split(value, "accel", pairs), "accel");
	char both[CMDLINE_TEXT_MAX];

	if (!name)
		return;
	snprintf(both, sizeof(both), "%.200s%s%.200s", p->out->accel, *p->out->accel ? ":" : "",
		 name);
	text_set(&p->out->accel, both);
}

static void take_memory(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	const char *size = pair_value(pairs, pairs_split(value, "size", pairs), "size");

	if (size)
		p->memory = size_parse(size, MIB);
}

static void take_smp(struct parse *p, const char *value)
{
	static const char *const parts[] = {"drawers",	"books",   "sockets", "dies",
					    "clusters", "modules", "cores",   "threads"};
	struct pair pairs[KEYS_MAX];
	unsigned int nr = pairs_split(value, "cpus", pairs);
	const char *cpus = pair_value(pairs, nr, "cpus"), *max = pair_value(pairs, nr, "maxcpus");

	p->cpus = cpus ? strtoull(cpus, NULL, 0) : 0;
	p->maxcpus = max ? strtoull(max, NULL, 0) : 0;
	p->topology = 1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *v = pair_value(pairs, nr, parts[i]);
		uint64_t n = v ? strtoull(v, NULL, 0) : 1;

		if (n && n <= CPUS_MAX && p->topology <= CPUS_MAX)
			p->topology *= n;
	}
}

/* {"driver":"virtio-blk-pci","drive":"d0"} becomes virtio-blk-pci,drive=d0 */
static void device_from_json(struct parse *p, const char *text)
{
	json_t *json = json_loads(text, 0, NULL), *value;
	const char *driver = json_string_value(json_object_get(json, "driver")), *key;
	char out[CMDLINE_TEXT_MAX];
	size_t len;

	if (driver) {
		len = (size_t)snprintf(out, sizeof(out), "%.200s", driver);
		json_object_foreach (json, key, value) {
			_cleanup_free_ char *v =
				json_is_string(value)
					? strdup(json_string_value(value))
					: json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

			if (strcmp(key, "driver") && v && len < sizeof(out))
				len += (size_t)snprintf(out + len, sizeof(out) - len, ",%s=%s", key,
							v);
		}
		device_add(p, out);
	}
	json_decref(json);
}

static void take_device(struct parse *p, const char *value)
{
	if (*value == '{')
		device_from_json(p, value);
	else
		device_add(p, value);
}

/* Writes KIND,KEY=VALUE,... without the keys that the kind implies. */
static void device_from_pairs(struct parse *p, const char *kind, const struct pair *pairs,
			      unsigned int nr, const char *without)
{
	char out[CMDLINE_TEXT_MAX];
	size_t len = (size_t)snprintf(out, sizeof(out), "%s", kind);

	for (unsigned int i = 0; i < nr && len < sizeof(out); i++)
		if (strcmp(pairs[i].key, without))
			len += (size_t)snprintf(out + len, sizeof(out) - len, ",%s=%s",
						pairs[i].key, pairs[i].value);
	device_add(p, out);
}

/* if=none only names a file for a -device; without if= the machine chooses. */
static void take_drive(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	unsigned int nr = pairs_split(value, "file", pairs);
	const char *interface = pair_value(pairs, nr, "if");

	if (interface && !strcmp(interface, "none"))
		return;
	if (interface && !strcmp(interface, "virtio"))
		device_from_pairs(p, "virtio-blk", pairs, nr, "if");
	else
		device_from_pairs(p, "drive", pairs, nr, "");
}

static void take_nic(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	unsigned int nr = pairs_split(value, "type", pairs);
	const char *model = pair_value(pairs, nr, "model"), *type = pair_value(pairs, nr, "type");

	if (type && !strcmp(type, "none"))
		return;
	device_from_pairs(p, model ? model : "nic", pairs, nr, "model");
}

/* A backend, not a device, but it defines whether vhost serves the rings outside QEMU. */
static void take_netdev(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];

	if (*value != '{')
		device_from_pairs(p, "netdev", pairs, pairs_split(value, "type", pairs), "");
}

static void take_object(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	unsigned int nr = pairs_split(value, "qom-type", pairs);
	const char *id = pair_value(pairs, nr, "id"), *size = pair_value(pairs, nr, "size");

	if (*value != '{' && id && size && !strcmp(id, p->backend))
		p->backend_bytes = size_parse(size, 1);
}

static void take_gdb(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];

	if (!pairs_split(value, "device", pairs))
		return;
	value = pairs[0].value;
	if (!strncmp(value, "unix:", 5))
		text_set(&p->out->gdb, value + 5);
	else if (!strncmp(value, "chardev:", 8))
		snprintf(p->gdb_device, sizeof(p->gdb_device), "%.63s", value + 8);
}

static void take_chardev(struct parse *p, const char *value)
{
	struct pair pairs[KEYS_MAX];
	unsigned int nr = pairs_split(value, "backend", pairs);
	const char *id = pair_value(pairs, nr, "id"), *path = pair_value(pairs, nr, "path");

	if (id && path && !strcmp(id, p->gdb_device))
		text_set(&p->out->gdb, path);
}

static void take_enable_kvm(struct parse *p, const char *value)
{
	(void)value;
	take_accel(p, "kvm");
}

static void take_nothing(struct parse *p, const char *value)
{
	(void)p;
	(void)value;
}

/* clang-format off */
static const struct {
	const char *name;
	void (*take)(struct parse *p, const char *value);
	bool alone; /* no value follows */
} options[] = {
	{"name", take_name},
	{"machine", take_machine},
	{"M", take_machine},
	{"accel", take_accel},
	{"enable-kvm", take_enable_kvm, true},
	{"uuid", take_uuid},
	{"m", take_memory},
	{"smp", take_smp},
	{"device", take_device},
	{"drive", take_drive},
	{"nic", take_nic},
	{"netdev", take_netdev},
	{"gdb", take_gdb},
	{"append", take_nothing}, /* its value is for the guest and may contain anything */
	{"fw_cfg", take_nothing},
};
/* clang-format on */

static void words_walk(struct parse *p, char *const *words, unsigned int nr)
{
	for (unsigned int i = 1; i < nr; i++) {
		const char *name = words[i];

		if (*name++ != '-')
			continue;
		name += *name == '-';
		for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
			if (strcmp(name, options[k].name))
				continue;
			if (options[k].alone)
				options[k].take(p, "");
			else if (i + 1 < nr)
				options[k].take(p, words[++i]);
			break;
		}
	}
}

static bool is_option(const char *word, const char *name)
{
	return *word == '-' && !strcmp(word + 1 + (word[1] == '-'), name);
}

/* -object may be before the -machine that refers to it, and -chardev before -gdb. */
static void referred_walk(struct parse *p, char *const *words, unsigned int nr)
{
	for (unsigned int i = 1; i + 1 < nr; i++) {
		if (*p->backend && is_option(words[i], "object"))
			take_object(p, words[i + 1]);
		if (*p->gdb_device && is_option(words[i], "chardev"))
			take_chardev(p, words[i + 1]);
	}
}

int vm_cmdline_parse(char *const *words, unsigned int nr, struct vm_cmdline *ret)
{
	struct parse p = {.out = ret};
	uint64_t cpus;

	memset(ret, 0, sizeof(*ret));
	ret->name = strdup("");
	ret->uuid = strdup("");
	ret->machine = strdup("");
	ret->accel = strdup("");
	ret->gdb = strdup("");
	if (!ret->name || !ret->uuid || !ret->machine || !ret->accel || !ret->gdb) {
		vm_cmdline_free(ret);
		return fail(-ENOMEM, "out of memory");
	}
	words_walk(&p, words, nr);
	referred_walk(&p, words, nr);
	cpus = p.cpus ? p.cpus : p.maxcpus ? p.maxcpus : p.topology;
	ret->cpus = cpus > CPUS_MAX ? CPUS_MAX : cpus ? (unsigned int)cpus : 1;
	ret->memory_bytes = p.memory	      ? p.memory
			    : p.backend_bytes ? p.backend_bytes
					      : MEMORY_DEFAULT_MIB * MIB;
	return 0;
}

void vm_cmdline_free(struct vm_cmdline *c)
{
	for (unsigned int i = 0; i < c->nr_devices; i++)
		free(c->devices[i]);
	free(c->devices);
	free(c->name);
	free(c->uuid);
	free(c->machine);
	free(c->accel);
	free(c->gdb);
	memset(c, 0, sizeof(*c));
}

static bool needs_quotes(const char *word)
{
	static const char fine[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%^";

	return !*word || word[strspn(word, fine)];
}

static void word_print(FILE *out, const char *word)
{
	_cleanup_free_ char *copy = strdup(word);

	if (!copy)
		return;
	text_sanitize(copy);
	if (!needs_quotes(copy)) {
		fputs(copy, out);
		return;
	}
	fputc('\'', out);
	for (const char *p = copy; *p; p++)
		if (*p == '\'')
			fputs("'\\''", out);
		else
			fputc(*p, out);
	fputc('\'', out);
}

char *vm_cmdline_quote(char *const *words, unsigned int nr)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (unsigned int i = 0; i < nr; i++) {
		if (i)
			fputc(' ', out);
		word_print(out, words[i]);
	}
	memstream_close(out, &text);
	return text;
}
