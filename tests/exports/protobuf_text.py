# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads protobuf's text format, as `protoc --decode` prints it."""
import collections
import sys


def message_read(lines):
    """A message from an iterator of lines, up to its end: field -> list of values, which are messages, texts or numbers.

    Names of enums stay texts. A field by its number, which the .proto file lacks, ends the program."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith(" {"):
            name, value = line[:-2], message_read(lines)
        else:
            name, value = line.split(": ", 1)
            value = value_read(value)
        if name[0].isdigit():
            sys.exit(f"field {name} is not in the .proto file")
        message[name].append(value)
    return message


def value_read(text):
    if text[0] == '"':  # bytes beyond ASCII are \ooo
        return text[1:-1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8")
    try:
        return int(text)
    except ValueError:
        return text
