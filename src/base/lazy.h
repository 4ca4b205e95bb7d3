/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A shared library that few commands need and that is slow to load: libcurl alone brings 30 others and
 * takes 4 of the 8 ms that a start of the program takes with it. It is not linked but opened at its
 * first use: one file X_lazy.c defines the library's own functions, each of which calls the library's.
 * The user calls lazy_load() before it begins, and has the sentence if the library is missing;
 * functions that open something fail without it, the others rely on these.
 *
 * The Makefile tells which name the library has here (LAZY_SONAME, from what -lX would have linked);
 * the section lazy_libraries of the program lists these names, for whoever packs it up:
 * `readelf -p lazy_libraries hostrace`.
 */
#ifndef HOSTRACE_LAZY_H
#define HOSTRACE_LAZY_H

#include <stdbool.h>
#include <stddef.h>

struct lazy_symbol {
	const char *name;
	void *real; /* where the address goes: a pointer to a function pointer */
};

struct lazy_library {
	const char *soname;
	const struct lazy_symbol *symbols;
	size_t nr_symbols;
	bool loaded;
};

/* Each exists where its user is built. */
extern struct lazy_library lazy_curl, lazy_pcap, lazy_capstone;

/* For lists of functions X(name): a struct of pointers to the real ones, and the symbols. */
#define LAZY_MEMBER(function) typeof(function) *function;
#define LAZY_SYMBOL(function) {#function, &real.function},

/* The list in the program's own file. */
#define LAZY_NOTE(soname) \
	static const char lazy_note[] __attribute__((section("lazy_libraries"), used)) = soname

/*
 * The library with all its symbols; nothing to do if it is there already. It stays until the program ends. 0, or
 * -ENOENT with the sentence set. Not for two threads at once.
 */
int lazy_load(struct lazy_library *lib);

#endif
