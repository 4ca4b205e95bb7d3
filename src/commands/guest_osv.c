// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest runqueue, callouts, memory, heap, mmap, pagetable, percpu, zfs, syms and dmesg of an OSv guest: each reads a
 * list (fetch/osv_state.h) while the guest is stopped, and prints it when it runs again.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/guest_tables.h"
#include "commands/common/output.h"
#include "fetch/osv_state.h"
#include "output/report.h"
#include "output/samples/samples_output.h"

/* ---- printing ---- */

/* What an action prints: a table, or an object and its text. */
struct guest_answer {
	const char *action;
	struct table *table; /* NULL: the others */
	json_t *json;
	const char *text;
	const char *note; /* or NULL */
	const struct osv_pause *pause;
};

static void no_foot(const struct report *r)
{
	(void)r;
}

static void none_print(const struct report *r)
{
	fprintf(r->out->file, "none\n");
}

static json_t *answer_caveats(const struct guest_answer *a)
{
	json_t *caveats = json_array();

	if (a->note)
		json_array_append_new(caveats, json_string(a->note));
	guest_lost_caveats(a->pause, caveats);
	return caveats;
}

static int answer_write(const struct guest_answer *a, struct output *out)
{
	struct report r = {.out = out, .foot = no_foot, .empty = none_print, .wide = true};
	json_t *json = a->table ? table_json(a->table) : json_incref(a->json);

	if (output_is("json"))
		return guest_json_write(out->file, a->action,
					json_is_array(json) ? "rows" : "result", json,
					answer_caveats(a))
			       ? -EIO
			       : 0;
	json_decref(json);
	if (a->table)
		return format_find("text")->table(&r, a->table);
	fputs(a->text, out->file);
	return 0;
}

/* Returns the exit status. err: of reading the guest, or of filling the table. */
static int answer_end(const struct guest_answer *a, int err)
{
	struct output out;

	if (!err)
		err = output_open("text json", &out);
	if (!err) {
		output_unwrap(&out);
		err = answer_write(a, &out);
		error_keep_first(&err, output_close(&out));
	}
	if (err) {
		osv_pause_fail(a->pause, err);
		return command_failed();
	}
	if (output_is("json"))
		return EXIT_FINE;
	if (a->note)
		command_note("%s", a->note);
	return guest_pause_print(a->pause);
}

/* Only options follow the action's name. */
static int options_read(int argc, char **argv, struct osv_guest_options *ret)
{
	if (argc)
		return command_usage("unexpected argument '%s'", argv[0]);
	return guest_memory_options(ret) ? command_failed() : EXIT_FINE;
}

/* ---- lists ---- */

struct guest_list {
	const char *action;
	const struct table_def *table;
	int (*read)(const struct osv_guest_options *opt, struct osv_rows *ret,
		    struct osv_pause *ret_pause);
};

static int list_print(const struct guest_list *l, const struct osv_guest_options *opt,
		      bool (*keep)(const void *row, void *arg), void *arg)
{
	struct osv_pause pause;
	struct osv_rows rows = {0};
	struct table t = {0};
	struct guest_answer a = {.action = l->action, .table = &t, .pause = &pause};
	int err = l->read(opt, &rows, &pause), status;

	if (err) {
		free(rows.row);
		return command_failed();
	}
	table_open(&t, l->table, NULL, NULL);
	for (size_t i = 0; i < rows.nr && !err; i++) {
		const uint8_t *row = (const uint8_t *)rows.row + i * rows.size;

		if (!keep || keep(row, arg))
			err = table_add(&t, row);
	}
	status = answer_end(&a, err);
	table_free(&t);
	free(rows.row);
	return status;
}

static int list_all(const struct guest_list *l, int argc, char **argv)
{
	struct osv_guest_options opt;
	int status = options_read(argc, argv, &opt);

	return status ? status : list_print(l, &opt, NULL, NULL);
}

int guest_runqueue(int argc, char **argv)
{
	return list_all(&(struct guest_list){"runqueue", &guest_runqueue_table, osv_runqueue}, argc,
			argv);
}

int guest_callouts(int argc, char **argv)
{
	return list_all(&(struct guest_list){"callouts", &guest_callouts_table, osv_callouts}, argc,
			argv);
}

int guest_heap(int argc, char **argv)
{
	return list_all(&(struct guest_list){"heap", &guest_heap_table, osv_heap}, argc, argv);
}

int guest_zfs(int argc, char **argv)
{
	return list_all(&(struct guest_list){"zfs", &guest_zfs_table, osv_zfs}, argc, argv);
}

/* ---- mmap ---- */

enum { ADDRESSES_MAX = 64 };

struct addresses_given {
	uint64_t address[ADDRESSES_MAX];
	unsigned int nr;
};

static bool mapping_has(const void *row, void *arg)
{
	const struct osv_mapping *m = row;
	const struct addresses_given *g = arg;

	for (unsigned int i = 0; i < g->nr; i++)
		if (g->address[i] >= m->start && g->address[i] < m->end)
			return true;
	return !g->nr;
}

static int addresses_read(int argc, char **argv, struct addresses_given *ret)
{
	for (int i = 0; i < argc; i++)
		if (i == ADDRESSES_MAX || parse_u64(argv[i], &ret->address[ret->nr++]))
			return command_usage("invalid address '%s'", argv[i]);
	return EXIT_FINE;
}

int guest_mmap(int argc, char **argv)
{
	const struct guest_list list = {"mmap", &guest_mmap_table, osv_mappings};
	struct addresses_given given = {0};
	struct osv_guest_options opt;
	int status = addresses_read(argc, argv, &given);

	if (status)
		return status;
	return guest_memory_options(&opt) ? command_failed()
					  : list_print(&list, &opt, mapping_has, &given);
}

/* ---- memory ---- */

static json_t *waiters_json(const struct osv_memory *m)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < m->nr_waiters; i++)
		json_array_append_new(list,
				      json_pack("{s:i,s:o,s:I}", "id", (int)m->waiter[i].id,
						"address", guest_address_json(m->waiter[i].thread),
						"bytes", (json_int_t)m->waiter[i].bytes));
	return list;
}

static json_t *memory_json(const struct osv_memory *m)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:o,s:I}", "physical_bytes", (json_int_t)m->physical,
			 "total_bytes", (json_int_t)m->total, "free_bytes", (json_int_t)m->free,
			 "mapped_bytes", (json_int_t)m->mapped, "mappings",
			 (json_int_t)m->nr_mappings, "waiters",
			 m->waiters_known ? waiters_json(m) : json_null(), "waiters_omitted",
			 (json_int_t)m->more_waiters);
}

static double memory_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

static void memory_text(const struct osv_memory *m, FILE *f)
{
	fprintf(f, "Total Memory: %" PRIu64 " Bytes\n", m->physical);
	fprintf(f, "Mmap Memory:  %" PRIu64 " Bytes (%.2f%%)\n", m->mapped,
		memory_share(m->mapped, m->physical));
	fprintf(f, "Free Memory:  %" PRIu64 " Bytes (%.2f%%)\n", m->free,
		memory_share(m->free, m->physical));
	fprintf(f, "waiters:%s\n",
		!m->waiters_known ? " not known in this build"
		: m->nr_waiters	  ? ""
				  : " none");
	for (unsigned int i = 0; i < m->nr_waiters; i++)
		fprintf(f, "Thread %u waits for %" PRIu64 " Bytes\n", m->waiter[i].id,
			m->waiter[i].bytes);
	if (m->more_waiters)
		fprintf(f, "and %u more threads\n", m->more_waiters);
}

int guest_memory(int argc, char **argv)
{
	_cleanup_free_ char *text = NULL;
	struct osv_guest_options opt;
	struct osv_memory m;
	struct osv_pause pause;
	size_t size;
	int status = options_read(argc, argv, &opt);
	FILE *f;

	if (status)
		return status;
	if (osv_memory(&opt, &m, &pause))
		return command_failed();
	f = open_memstream(&text, &size);
	if (f) {
		memory_text(&m, f);
		fclose(f);
	}
	json_auto_t *json = memory_json(&m);

	return answer_end(&(struct guest_answer){.action = "memory",
						 .json = json,
						 .text = text ? text : "",
						 .pause = &pause},
			  text ? 0 : fail(-ENOMEM, "out of memory"));
}

/* ---- pagetable ---- */

static json_t *translation_json(const struct osv_translation *t)
{
	json_t *levels = json_array();

	for (unsigned int i = 0; i < t->nr_levels; i++)
		json_array_append_new(levels,
				      json_pack("{s:i,s:o,s:o}", "level", (int)t->level[i].level,
						"at", guest_address_json(t->level[i].at), "entry",
						guest_address_json(t->level[i].entry)));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "address", guest_address_json(t->address),
			 "levels", levels, "physical",
			 t->mapped ? guest_address_json(t->physical) : json_null(), "page_bytes",
			 t->mapped ? json_integer((json_int_t)t->page_bytes) : json_null(),
			 "writable", t->mapped ? json_boolean(t->writable) : json_null(),
			 "executable", t->mapped ? json_boolean(t->executable) : json_null());
}

static void translation_text(const struct osv_translation *t, FILE *f)
{
	for (unsigned int i = 0; i < t->nr_levels; i++)
		fprintf(f, "%016" PRIx64 " %016" PRIx64 "\n", t->level[i].at, t->level[i].entry);
	if (t->mapped)
		fprintf(f,
			"0x%" PRIx64 " is at physical 0x%" PRIx64 ", in a page of %" PRIu64
			" bytes: r%s%s\n",
			t->address, t->physical, t->page_bytes, t->writable ? "w" : "",
			t->executable ? "x" : "");
	else
		fprintf(f, "0x%" PRIx64 " is not mapped\n", t->address);
}

int guest_pagetable(int argc, char **argv)
{
	_cleanup_free_ char *text = NULL;
	struct osv_guest_options opt;
	struct osv_translation t;
	struct osv_pause pause;
	uint64_t address;
	size_t size;
	FILE *f;

	if (argc != 1)
		return command_usage(argc ? "unexpected argument '%s'" : "missing address",
				     argc ? argv[1] : "");
	if (parse_u64(argv[0], &address))
		return command_usage("invalid address '%s'", argv[0]);
	if (guest_memory_options(&opt) || osv_translate(&opt, address, &t, &pause))
		return command_failed();
	f = open_memstream(&text, &size);
	if (f) {
		translation_text(&t, f);
		fclose(f);
	}
	json_auto_t *json = translation_json(&t);

	return answer_end(&(struct guest_answer){.action = "pagetable",
						 .json = json,
						 .text = text ? text : "",
						 .pause = &pause},
			  text ? 0 : fail(-ENOMEM, "out of memory"));
}

/* ---- percpu ---- */

static json_t *percpu_json(const struct osv_percpu *row, size_t nr)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(
			rows, json_pack("{s:i,s:i,s:o,s:O}", "cpu", (int)row[i].acpi_id, "cpu_id",
					(int)row[i].cpu, "address",
					guest_address_json(row[i].address), "value", row[i].value));
	return rows;
}

static char *percpu_text(const struct osv_percpu *row, size_t nr)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < nr; i++) {
		_cleanup_free_ char *value =
			json_dumps(row[i].value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

		fprintf(f, "CPU %u: %s\n", row[i].acpi_id, value ? value : "?");
	}
	if (f)
		fclose(f);
	return text;
}

int guest_percpu(int argc, char **argv)
{
	_cleanup_free_ char *text = NULL;
	struct osv_guest_options opt;
	struct osv_percpu *row = NULL;
	struct osv_pause pause;
	size_t nr = 0;
	int err, status;

	if (argc < 1 || argc > 2)
		return command_usage(argc ? "unexpected argument '%s'" : "missing variable",
				     argc ? argv[2] : "");
	if (guest_memory_options(&opt))
		return command_failed();
	err = osv_percpu(&opt, argv[0], argc > 1 ? argv[1] : NULL, &row, &nr, &pause);
	if (err) {
		osv_percpu_free(row, nr);
		return command_failed();
	}
	text = percpu_text(row, nr);
	json_auto_t *json = percpu_json(row, nr);

	status = answer_end(&(struct guest_answer){.action = "percpu",
						   .json = json,
						   .text = text ? text : "",
						   .pause = &pause},
			    text ? 0 : fail(-ENOMEM, "out of memory"));
	osv_percpu_free(row, nr);
	return status;
}

/* ---- syms ---- */

int guest_syms(int argc, char **argv)
{
	struct osv_guest_options opt;
	struct osv_modules modules;
	struct osv_pause pause;
	struct osv_files files;
	struct table t = {0};
	struct guest_answer a = {.action = "syms", .table = &t, .pause = &pause};
	int err, status = options_read(argc, argv, &opt);

	if (status)
		return status;
	files = osv_files_of(&opt);
	err = osv_modules(&opt, &modules, &pause);
	if (err) {
		free(modules.module);
		return command_failed();
	}
	table_open(&t, &guest_syms_table, NULL, NULL);
	for (unsigned int i = 0; i < modules.nr && !err; i++) {
		const struct osv_module *m = &modules.module[i];
		_cleanup_free_ char *file = m->lost ? NULL : osv_file_find(&files, m->path);

		if (!m->lost)
			err = table_add(&t, &(struct guest_sym){m->base, m->path, file});
	}
	status = answer_end(&a, err);
	table_free(&t);
	free(modules.module);
	return status;
}

/* ---- dmesg ---- */

static json_t *lines_json(const char *text)
{
	json_t *rows = json_array();
	const char *end;

	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		_cleanup_free_ char *line = strndup(text, (size_t)(end - text));

		if (line)
			json_array_append_new(rows, json_pack("{s:o}", "text", text_json(line)));
	}
	return rows;
}

/* But for the ends of lines and tabs. */
static void lines_sanitize(char *text)
{
	for (char *end; *text; text = end) {
		size_t len = strcspn(text, "\n\t");
		char kept = text[len];

		text[len] = '\0';
		text_sanitize(text);
		text[len] = kept;
		end = text + len + (kept != '\0');
	}
}

/* Takes the text. It ends with a line's end. */
static int log_print(char *log, const char *note, const struct osv_pause *pause)
{
	size_t len = strlen(log);
	_cleanup_free_ char *text = NULL;
	int printed = asprintf(&text, "%s%s", log, len && log[len - 1] != '\n' ? "\n" : "");

	free(log);
	if (printed < 0) {
		fail(-ENOMEM, "out of memory");
		return command_failed();
	}
	lines_sanitize(text);
	json_auto_t *json = lines_json(text);

	return answer_end(&(struct guest_answer){.action = "dmesg",
						 .json = json,
						 .text = text,
						 .note = note,
						 .pause = pause},
			  0);
}

int guest_osv_dmesg(int argc, char **argv)
{
	static const char *const notes[] = {
		[OSV_LOG_WRAPPED] = "the log has wrapped: its first line may be cut",
		[OSV_LOG_UNORDERED] = "the log has wrapped, and where it begins is not known: its "
				      "lines are not in order",
	};
	struct osv_guest_options opt;
	struct osv_pause pause;
	enum osv_log_state state;
	char *text = NULL;
	int status = options_read(argc, argv, &opt);

	if (status)
		return status;
	if (osv_log(&opt, &text, &state, &pause)) {
		free(text);
		return command_failed();
	}
	return log_print(text, state < sizeof(notes) / sizeof(*notes) ? notes[state] : NULL,
			 &pause);
}

/* The same by its REST server. */
int guest_rest_dmesg(const char *text)
{
	static const struct osv_pause none = {.live = true, .dump = true};
	char *log = strdup(text);

	return log ? log_print(log, NULL, &none)
		   : (fail(-ENOMEM, "out of memory"), command_failed());
}
