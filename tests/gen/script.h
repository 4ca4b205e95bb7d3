/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the generators of recordings share: growing buffers, numbers, and tracepoints, which are declared by a line
 *
 *   format SYSTEM NAME TYPE:FIELD...   TYPE is u8 u16 u32 u64 s8 s16 s32 s64 bool long ulong dev_t sector_t; FIELD[N]
 *                                      of char or u8 is an array, dyn a text of any length (a value of " is empty)
 *   print NAME FORMAT                  the print format of that event: the rest of the line
 *
 * and are recorded by their fields' values in this order: numbers, texts with '~' for a blank, and bytes as hexadecimal
 * digits. Wrong scripts end the program with a message.
 */
#ifndef HOSTRACE_TESTS_GEN_SCRIPT_H
#define HOSTRACE_TESTS_GEN_SCRIPT_H

#include <stdint.h>
#include <stdio.h>

enum { EVENTS = 128, FIELDS = 16, WORDS = 64, RECORD_MAX = 512 };

struct bytes {
	char *data;
	size_t len;
	FILE *f;
};

struct format {
	char *system, *name, *print;
	int id, nr, size[FIELDS], count[FIELDS], end;
	char *type[FIELDS], *field[FIELDS];
};

struct formats {
	struct format of[EVENTS];
	int nr;
};

void bytes_begin(struct bytes *b);
void bytes_end(struct bytes *b);
void put(FILE *f, uint64_t value, int size);
void put_text(FILE *f, const char *text);
void put_sized(FILE *f, const void *data, size_t len, int bytes_of_len);
uint64_t number(const char *text);

/* Replaces each '~' by a blank. Returns the text. */
char *text_word(char *word);

/* If the line is one of "print", keeps its format. */
int print_read(struct formats *all, const char *line);

/* Splits a line at blanks, up to '#'. Returns the number of words. */
int words_split(char *line, char *word[WORDS]);

/* The words of a line "format ...". */
void format_add(struct formats *all, char **word, int nr);

/* By its name; its index. */
int format_find(const struct formats *all, const char *name);

/* The record of an event with these values, in `to`, of RECORD_MAX bytes; its length. */
size_t record_make(const struct format *f, uint32_t tid, char **value, int nr, uint8_t *to);

/* As in a trace.dat and in perf's TRACING_DATA. */
void headers_put(uint32_t page_size, FILE *f);
void formats_put(const struct formats *all, FILE *f);

#endif
