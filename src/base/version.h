/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_VERSION_H
#define HOSTRACE_VERSION_H

/* #define HOSTRACE_VERSION "0.1.0", made by the Makefile from the tag: scripts/version.sh */
#include "version_text.h"

#endif
