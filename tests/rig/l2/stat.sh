# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# Only boot and power off: several thousand exits of many reasons.
echo "l2: counted"
