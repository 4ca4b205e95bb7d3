# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# Nothing but the way up and down: some thousand exits of many reasons.
echo "l2: counted"
