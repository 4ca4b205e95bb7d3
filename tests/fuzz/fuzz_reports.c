// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every report command over any trace. The first line of an input is the command with its options, the rest a text
 * trace, and after a line "%guest" that of a guest. The trace is read as it is, or after import to a .hrt file.
 * Commands run in this process: their options are put back afterwards, and what they print goes to /dev/null.
 */
#include <fcntl.h>

#include "commands/common/command.h"
#include "commands/common/input.h"
#include "lsan.h"
#include "mutate_text.h"
#include "pairing/analyzer.h"
#include "walk.h"

enum {
	WORDS_MAX = 24,
	OPTIONS_BYTES_MAX = 64 << 10,
	COMMANDS_MAX = 64,
	TABLES_MAX = 16,
	LINE_BYTES = 256
};

static const char guest_line[] = "\n%guest\n";

/* ---- which commands and options ---- */

static bool has_inputs(const struct command *c)
{
	const struct option_row *const *t = c->options;

	while (*t && *t != input_rows)
		t++;
	return *t;
}

static bool is_one_of(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name))
		list++;
	return *list;
}

/* Not those that write files or start programs. */
static bool is_report(const struct command *c)
{
	static const char *const others[] = {"import", "tcpdump", "pcap-dump", "annotate", NULL};

	return has_inputs(c) && !is_one_of(others, c->name);
}

/* Not those that name files and servers, or look at what runs on this machine. */
static bool is_allowed(const struct option_row *o)
{
	static const char *const args[] = {"FILE", "URL", "SOCKET", NULL};
	static const char *const names[] = {"state", "tcpdump", "help", NULL};

	return !(o->arg && is_one_of(args, o->arg)) && !is_one_of(names, o->name);
}

static unsigned int reports_list(const struct command **ret)
{
	unsigned int nr = 0;

	for (const struct command *const *c = commands; *c && nr < COMMANDS_MAX; c++)
		if (is_report(*c))
			ret[nr++] = *c;
	return nr;
}

static const struct option_row *option_find(const struct command *c, const char *word)
{
	size_t len = strcspn(word, "=");

	for (const struct option_row *const *t = c->options; *t; t++)
		for (const struct option_row *o = *t; o->name; o++)
			if (word[1] == '-' ? len - 2 == strlen(o->name) &&
						     !strncmp(word + 2, o->name, len - 2)
					   : o->letter == word[1] && !word[2])
				return o;
	return NULL;
}

/* ---- running one ---- */

struct words {
	char *word[WORDS_MAX + 1];
	int nr;
};

static void word_add(struct words *w, const char *word)
{
	if (w->nr < WORDS_MAX)
		w->word[w->nr++] = (char *)word; /* is not written to */
}

/* The words of a line that are for this command. */
static void words_take(const struct command *c, char *line, struct words *w)
{
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
		bool is_option = word[0] == '-' && word[1];
		const struct option_row *o = is_option ? option_find(c, word) : NULL;

		if (is_option ? !o || !is_allowed(o) : word[0] == '.' || !!strchr(word, '/'))
			continue;
		word_add(w, word);
		if (o && o->kind != OPT_FLAG && !strchr(word, '=') && (word = strtok(NULL, " ")))
			word_add(w, word);
	}
}

/* Copies the variables of all options to `buf`, or back from it. False: `size` is too small. */
static bool options_copy(const struct option_row *const *tables, char *buf, size_t size, bool back)
{
	size_t at = 0;

	for (; *tables; tables++)
		for (const struct option_row *o = *tables; o->name; o++) {
			size_t bytes = option_bytes(o);

			if (bytes > size - at)
				return false;
			if (back)
				memcpy(o->to, buf + at, bytes);
			else
				memcpy(buf + at, o->to, bytes);
			at += bytes;
		}
	return true;
}

static void command_run(const struct command *c, struct words *w)
{
	static char saved[OPTIONS_BYTES_MAX], common_saved[sizeof(common) + 64];
	const struct option_row *const common_tables[] = {common_options, NULL};
	const struct option_row *tables[TABLES_MAX + 2] = {common_options};
	struct input_options inputs = input_given;
	struct options_given given = {0};
	int nr = 0, rest = 0;

	for (int i = 0; i < TABLES_MAX && c->options[i]; i++)
		tables[i + 1] = c->options[i];
	if (!options_copy(c->options, saved, sizeof(saved), false) ||
	    !options_copy(common_tables, common_saved, sizeof(common_saved), false))
		abort();
	common.no_pager = true;
	command_now = c;
	command_given = &given;
	if (!options_parse(w->nr, w->word, tables, &given, &nr, &rest))
		c->run(nr, w->word);
	options_copy(c->options, saved, sizeof(saved), true);
	options_copy(common_tables, common_saved, sizeof(common_saved), true);
	input_given = inputs;
}

static const struct command *command_named(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* ---- the trace ---- */

static void memory_file(int *fd, const char *text, size_t len, char path[64])
{
	if (*fd < 0)
		*fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, (off_t)len) || pwrite(*fd, text, len, 0) != (ssize_t)len)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", *fd);
}

/* Replaces the text by a .hrt file of the same events. -1: it is no trace. */
static int import(char path[64])
{
	char dir[] = "/dev/shm/fuzz-XXXXXX", made[64];
	struct words w = {{(char *)"import", (char *)"-o", made, path}, 4};
	int fd;

	if (!mkdtemp(dir))
		abort();
	snprintf(made, sizeof(made), "%s/hrt", dir);
	command_run(command_named("import"), &w);
	fd = open(made, O_RDONLY | O_CLOEXEC);
	unlink(made);
	rmdir(dir);
	if (fd >= 0)
		snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

struct fuzz_input {
	char line[LINE_BYTES + 2], host[64], guest[64]; /* the command; paths, of no guest: empty */
};

static bool input_split(const uint8_t *data, size_t size, struct fuzz_input *in)
{
	static int host_fd = -1, guest_fd = -1;
	const char *text = (const char *)data, *end = memchr(data, '\n', size), *guest;
	size_t len;

	if (!end || memchr(data, 0, (size_t)(end - text)))
		return false;
	snprintf(in->line, LINE_BYTES, "%.*s", (int)(end - text), text);
	end++;
	len = size - (size_t)(end - text);
	guest = memmem(end, len, guest_line, strlen(guest_line));
	memory_file(&host_fd, end, guest ? (size_t)(guest + 1 - end) : len, in->host);
	in->guest[0] = '\0';
	if (guest) {
		guest += strlen(guest_line);
		memory_file(&guest_fd, guest, (size_t)(text + size - guest), in->guest);
	}
	return true;
}

static void report_run(const struct command *c, struct fuzz_input *in, bool imported)
{
	struct words w = {0};
	int fd = imported ? import(in->host) : -1;

	if (imported && fd < 0)
		return;
	word_add(&w, c->name);
	if (!strcmp(c->name, "diff")) { /* its inputs are two arguments */
		word_add(&w, in->host);
		word_add(&w, *in->guest ? in->guest : in->host);
	} else {
		word_add(&w, "-i");
		word_add(&w, in->host);
		if (*in->guest)
			word_add(&w, "--guest"), word_add(&w, in->guest);
	}
	words_take(c, in->line + strlen(in->line) + 1, &w);
	command_run(c, &w);
	if (fd >= 0)
		close(fd);
	event_types_forget();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *out = stdout, *err = stderr;

	for (unsigned int way = 0; way < 2; way++) {
		struct fuzz_input in = {0};
		const struct command *c;

		if ((!walk_way(data, size, way) && !walk_way(data, size, way + 2)) ||
		    !input_split(data, size, &in))
			continue;
		in.line[strcspn(in.line, " ")] = '\0';
		c = command_named(in.line);
		if (!c || !is_report(c))
			continue;
		stdout = stderr = walk_sink();
		report_run(c, &in, way);
		fflush(stdout);
		stdout = out;
		stderr = err;
	}
	return 0;
}

/* ---- mutation ---- */

static const char *value_of(const struct option_row *o, unsigned int *seed, char text[64])
{
	static const char *const formats[] = {"text",	"json",	  "csv",   "svg",
					      "html",	"jsonl",  "page",  "perfetto",
					      "chrome", "folded", "pprof", "flame"};
	static const char *const keys[] = {"vcpu", "reason", "=vcpu", "vm,vcpu", "tid", "cpu",
					   "task", "handler", "symbol", "guest-task", "queue",
					   "device", "port", "request", "reason,vcpu", "level"};
	static const char *const times[] = {"1us", "0",	 "1ms",		"1s",
					    "-1s", "1h", "18446744073", "5ns"};
	static const char *const words[] = {"total",   "count",	 "time",    "max",  "duration",
					    "*",       "kvm_*",	 "fit",	    "read", "0,1",
					    "-1000,1", "always", "thread",  "cpu",  "red",
					    "10",      "5%",	 "sched_*", "hlt"};

	if (!strcmp(o->name, "format"))
		return PICK(formats, seed);
	if (!strcmp(o->name, "by") || !strcmp(o->name, "group-by"))
		return PICK(keys, seed);
	if (o->kind == OPT_DURATION || o->kind == OPT_SPAN || o->kind == OPT_TIME)
		return PICK(times, seed);
	if (o->kind == OPT_U64 || o->kind == OPT_NUMBERS || o->kind == OPT_SIZE) {
		snprintf(text, 64, "%" PRIu64, value_hostile(seed));
		return text;
	}
	return PICK(words, seed);
}

/* What the command has as its first argument, if it has one. */
static const char *argument_of(const struct command *c, unsigned int *seed)
{
	static const char *const formats[] = {"text", "json", "jsonl", "csv", "trace.dat"};
	uint32_t nr = 0;

	if (!strcmp(c->name, "export"))
		return PICK(formats, seed);
	if (!strstr(c->args, "ANALYZER") || mutate_chance(seed, 4))
		return "";
	while (analyzers[nr])
		nr++;
	return analyzers[mutate_random(seed) % nr]->name;
}

/* Another command line. */
static size_t command_mutate(uint8_t *data, size_t size, size_t max, struct piece first,
			     unsigned int *seed)
{
	const struct command *list[COMMANDS_MAX], *c = NULL;
	unsigned int nr = reports_list(list);
	char line[200], text[64];
	int len;

	snprintf(line, sizeof(line), "%.*s", (int)first.len, (const char *)data);
	line[strcspn(line, " \n")] = '\0';
	if (mutate_chance(seed, 2))
		c = command_named(line);
	if (!c)
		c = list[mutate_random(seed) % nr];
	len = snprintf(line, sizeof(line), "%s %s", c->name, argument_of(c, seed));
	for (uint32_t k = mutate_random(seed) % 4; k; k--) {
		const struct option_row *const *t = c->options;
		const struct option_row *o;
		uint32_t tables = 0, rows = 0;

		while (t[tables])
			tables++;
		o = t[mutate_random(seed) % tables];
		while (o[rows].name)
			rows++;
		o = rows ? &o[mutate_random(seed) % rows] : NULL;
		if (o && is_allowed(o) && len < 120)
			len += snprintf(line + len, sizeof(line) - (size_t)len, " --%s %s", o->name,
					o->kind == OPT_FLAG ? "" : value_of(o, seed, text));
	}
	line[len++] = '\n';
	if ((size_t)len > max - size)
		return size;
	return piece_replace(data, size, &first, (const uint8_t *)line, (size_t)len);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct piece first;

	mutate_random(&seed);
	if (!size || mutate_chance(&seed, 32))
		return LLVMFuzzerMutate(data, size, max);
	first = line_at(data, size, 0);
	if (mutate_chance(&seed, 4))
		return command_mutate(data, size, max, first, &seed);
	size_t from = first.len;

	if (mutate_random(&seed) % 8 && from < size && data[from] == '#')
		from += line_at(data, size, from).len; /* the head */
	return text_mutate(data, size, max, from, &seed);
}
