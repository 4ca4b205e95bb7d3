#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the version: that of the tag vVERSION at or before HEAD, with "+COMMITS.gHASH" for the commits since; without a
# tag, or in an archive of `make dist`, which is no checkout, what the file VERSION has.
cd "$(dirname "$0")/.." || exit 1
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
	tag=$(git describe --tags --match 'v[0-9]*' HEAD 2>/dev/null)
	echo "${tag:-v$(cat VERSION)}" | sed 's/^v//; s/-\([0-9]*\)-\(g[0-9a-f]*\)$/+\1.\2/'
else
	cat VERSION
fi
