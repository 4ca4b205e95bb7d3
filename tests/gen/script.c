// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

enum { PAGE_HEAD = 16 };

void bytes_begin(struct bytes *b)
{
	*b = (struct bytes){0};
	b->f = open_memstream(&b->data, &b->len);
}

void bytes_end(struct bytes *b)
{
	fclose(b->f);
}

void put(FILE *f, uint64_t value, int size)
{
	fwrite(&value, 1, (size_t)size, f); /* little-endian, as this machine is */
}

void put_text(FILE *f, const char *text)
{
	fwrite(text, 1, strlen(text) + 1, f);
}

void put_sized(FILE *f, const void *data, size_t len, int bytes_of_len)
{
	put(f, len, bytes_of_len);
	fwrite(data, 1, len, f);
}

uint64_t number(const char *text)
{
	char *end;
	uint64_t v = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);

	if (!*text || *end)
		error(1, 0, "invalid number '%s'", text);
	return v;
}

int words_split(char *line, char *word[WORDS])
{
	char *save = NULL;
	int nr = 0;

	line[strcspn(line, "#\n")] = '\0';
	for (char *w = strtok_r(line, " \t", &save); w && nr < WORDS;
	     w = strtok_r(NULL, " \t", &save))
		word[nr++] = w;
	return nr;
}

char *text_word(char *word)
{
	for (char *p = word; *p; p++)
		*p = *p == '~' ? ' ' : *p;
	return word;
}

int print_read(struct formats *all, const char *line)
{
	char name[128];
	int at = 0;

	if (sscanf(line, "print %127s %n", name, &at) != 1 || !at)
		return 0;
	all->of[format_find(all, name)].print = strndup(line + at, strcspn(line + at, "\n"));
	return 1;
}

/* Bytes of a type, 0: there is none. */
static int type_size(const char *type)
{
	if (!strncmp(type, "bool", 4) || !strncmp(type, "char", 4))
		return 1;
	if (!strncmp(type, "long", 4) || !strncmp(type, "ulong", 5) ||
	    !strncmp(type, "sector_t", 8))
		return 8;
	if (!strncmp(type, "dev_t", 5) || !strncmp(type, "dyn", 3))
		return 4;
	int size = *type == 'u' || *type == 's' ? atoi(type + 1) / 8 : 0;

	return size == 1 || size == 2 || size == 4 || size == 8 ? size : 0;
}

static void field_add(struct format *f, char *word)
{
	char *colon = strchr(word, ':'), *bracket = strchr(word, '[');
	int size = colon ? type_size(word) : 0;

	if (!size || f->nr == FIELDS)
		error(1, 0, "invalid field '%s'", word);
	f->count[f->nr] = bracket ? atoi(bracket + 1) : 0;
	f->end = (f->end + size - 1) / size * size + size * (bracket ? f->count[f->nr] : 1);
	f->size[f->nr] = size;
	f->type[f->nr] = strndup(word, (size_t)(colon - word));
	f->field[f->nr++] = strndup(colon + 1, strcspn(colon + 1, "["));
}

void format_add(struct formats *all, char **word, int nr)
{
	struct format *f = &all->of[all->nr];

	if (nr < 3 || all->nr == EVENTS)
		error(1, 0, "format: SYSTEM NAME TYPE:FIELD...");
	*f = (struct format){.system = strdup(word[1]), .name = strdup(word[2]), .print = "\"\"",
			     .id = 100 + all->nr, .end = 8};
	for (int i = 3; i < nr; i++)
		field_add(f, word[i]);
	all->nr++;
}

int format_find(const struct formats *all, const char *name)
{
	int i = 0;

	while (i < all->nr && strcmp(all->of[i].name, name))
		i++;
	if (i == all->nr)
		error(1, 0, "event '%s': no such format", name);
	return i;
}

/* A text, or bytes as hexadecimal digits. */
static void array_put(const struct format *f, int i, char *value, uint8_t *to)
{
	if (*f->type[i] == 'c') {
		text_word(value);
		memcpy(to, value, strnlen(value, (size_t)f->count[i] - 1));
		return;
	}
	for (int k = 0; k < f->count[i] && sscanf(value + 2 * k, "%2hhx", &to[k]) == 1; k++)
		;
}

/* The text after the record's fields, and the field that says where it is. */
static size_t dynamic_put(char *value, uint8_t *to, size_t at, size_t end)
{
	const char *text = text_word(value) + (*value == '"'); /* " alone: an empty one */
	size_t len = strlen(text) + 1;
	uint32_t place = (uint32_t)(len << 16 | end);

	if (end + len > RECORD_MAX)
		error(1, 0, "record too long");
	memcpy(to + at, &place, sizeof(place));
	memcpy(to + end, text, len);
	return end + len;
}

size_t record_make(const struct format *f, uint32_t tid, char **value, int nr, uint8_t *to)
{
	size_t at = 8, end = (size_t)f->end;

	if (nr != f->nr)
		error(1, 0, "event '%s': %d values, not %d", f->name, nr, f->nr);
	memset(to, 0, RECORD_MAX);
	memcpy(to, &f->id, 2);
	memcpy(to + 4, &tid, 4);
	for (int i = 0; i < nr; i++) {
		int dynamic = *f->type[i] == 'd' && f->type[i][1] == 'y';
		uint64_t v = f->count[i] || dynamic ? 0 : number(value[i]);
		size_t size = (size_t)f->size[i];

		at = (at + size - 1) / size * size;
		if (f->count[i])
			array_put(f, i, value[i], to + at);
		else if (dynamic)
			end = dynamic_put(value[i], to, at, end);
		else
			memcpy(to + at, &v, size);
		at += size * (f->count[i] ? (size_t)f->count[i] : 1);
	}
	return end;
}

void headers_put(uint32_t page_size, FILE *f)
{
	char page[512];
	static const char event[] = "# compressed entry header\n\ttype_len    :    5 bits\n"
				    "\ttime_delta  :   27 bits\n\tarray       :   32 bits\n";
	int len = snprintf(page, sizeof(page),
			   "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			   "\tfield: char data;\toffset:16;\tsize:%u;\tsigned:1;\n",
			   page_size - PAGE_HEAD);

	put_text(f, "header_page");
	put_sized(f, page, (size_t)len, 8);
	put_text(f, "header_event");
	put_sized(f, event, sizeof(event) - 1, 8);
}

/* The type as the kernel names it. */
static const char *type_name(const char *type)
{
	if (!strcmp(type, "ulong"))
		return "unsigned long";
	if (!strcmp(type, "dyn"))
		return "__data_loc char[]";
	return strcmp(type, "s32") ? type : "int";
}

static void format_put(const struct format *e, FILE *f)
{
	struct bytes b;
	int at = 8;

	bytes_begin(&b);
	fprintf(b.f, "name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n", e->name, e->id);
	for (int i = 0; i < e->nr; i++) {
		const char *type = e->type[i];
		int size = e->size[i] * (e->count[i] ? e->count[i] : 1);

		at = (at + e->size[i] - 1) / e->size[i] * e->size[i];
		fprintf(b.f, "\tfield:%s %s", type_name(type), e->field[i]);
		if (e->count[i])
			fprintf(b.f, "[%d]", e->count[i]);
		fprintf(b.f, ";\toffset:%d;\tsize:%d;\tsigned:%d;\n", at, size,
			(*type == 's' && type[1] != 'e') || *type == 'l');
		at += size;
	}
	fprintf(b.f, "\nprint fmt: %s\n", e->print);
	bytes_end(&b);
	put_sized(f, b.data, b.len, 8);
	free(b.data);
}

void formats_put(const struct formats *all, FILE *f)
{
	put(f, (uint64_t)all->nr, 4); /* each as a system of its own: names may repeat */
	for (int i = 0; i < all->nr; i++) {
		put_text(f, all->of[i].system);
		put(f, 1, 4);
		format_put(&all->of[i], f);
	}
}
