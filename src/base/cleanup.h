/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scope guards: `_cleanup_free_ char *s = NULL;` is freed when it leaves scope. A type with its own
 * destructor defines its guard next to its _close(): DEFINE_CLEANUP(reader, struct reader *, reader_close).
 */
#ifndef HOSTRACE_CLEANUP_H
#define HOSTRACE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFINE_CLEANUP(name, type, release)                                                        \
	static inline void name##_cleanup_(type *p)                                                \
	{                                                                                          \
		if (*p)                                                                            \
			release(*p);                                                               \
	}                                                                                          \
	struct name##_cleanup_needs_semicolon_

static inline void cleanup_free_(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose_(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir_(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void cleanup_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_(fn)	   __attribute__((cleanup(fn)))
#define _cleanup_free_	   _cleanup_(cleanup_free_)
#define _cleanup_fclose_   _cleanup_(cleanup_fclose_)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir_)
#define _cleanup_close_	   _cleanup_(cleanup_close_)

/* Transfers ownership of a guarded pointer: return take_ptr(p); */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#endif
