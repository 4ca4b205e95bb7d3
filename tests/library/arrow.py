#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes reports as a consumer of Arrow's C streams does, and compares every value with the rows: arrow.py FILE..."""
import ctypes
import gc
import json
import sys

import hostrace
from hostrace import _arrow

REPORTS = [("exits", []), ("exits", ["--by", "vcpu"]), ("list", []), ("blame", []), ("virtio", []), ("timeline", []),
           ("sql", ["--", "SELECT 1 AS a, NULL AS b, 'text' AS c WHERE 0\n"]),
           ("sql", ["--", "SELECT NULL AS empty, 1.5 AS real, 'é' AS text, -3 AS whole UNION ALL SELECT NULL, 2.5, NULL, NULL\n"])]
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def bit(buffer, i):
    return bool(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_uint8))[i // 8] >> i % 8 & 1)


def text(array, i, offset):
    at = ctypes.cast(array.buffers[1], ctypes.POINTER(offset))
    return ctypes.string_at(array.buffers[2] + at[i], at[i + 1] - at[i]).decode()


def value(array, fmt, i):
    if fmt == b"n" or not bit(array.buffers[0], i):
        return None
    if fmt in (b"l", b"g"):
        kind = ctypes.c_int64 if fmt == b"l" else ctypes.c_double
        return ctypes.cast(array.buffers[1], ctypes.POINTER(kind))[i]
    if fmt == b"b":
        return bit(array.buffers[1], i)
    return text(array, i, {b"u": ctypes.c_int32, b"U": ctypes.c_int64}[fmt])


def moved(struct):
    """As a consumer does that keeps it: a copy, whose source counts as released."""
    copy = type(struct)()
    ctypes.pointer(copy)[0] = struct
    struct.release = type(struct.release)()
    return copy


def compare(rows):
    capsule = rows.__arrow_c_stream__()
    stream = moved(_arrow._Stream.from_address(get_pointer(capsule, b"arrow_array_stream")))
    del capsule
    schema, array, end = _arrow._Schema(), _arrow._Array(), _arrow._Array()
    assert stream.get_schema(stream, schema) == 0 and schema.format == b"+s" and schema.n_children == len(rows.columns)
    assert stream.get_next(stream, array) == 0 and array.length == len(rows) and array.n_children == len(rows.columns)
    assert stream.get_next(stream, end) == 0 and not end.release
    stream.release(stream)
    first = moved(array.children[0].contents) if array.n_children else None
    for c, column in enumerate(rows.columns):
        child = first if not c else array.children[c].contents
        got = schema.children[c].contents
        assert got.name.decode() == column.name
        values = [row[column.name] for row in rows]
        assert child.length == len(rows) and child.null_count == values.count(None), column
        for i, want in enumerate(values):
            have = value(child, got.format, i)
            like = want if not isinstance(want, (dict, list)) and column.kind != "none" or want is None or isinstance(want, str) else json.dumps(want)
            assert have == like and type(have) is type(like), (column, i, have, like)
    array.release(array)
    if first is not None:
        if first.length and first.n_buffers:
            value(first, schema.children[0].contents.format, 0)  # still there
        first.release(first)
    schema.release(schema)
    assert not array.release and not schema.release
    return len(rows)


def main():
    total = 0
    for path in sys.argv[1:]:
        for name, options in REPORTS:
            total += compare(hostrace.Trace(path).report(name, *options))
    rows = hostrace.Trace(sys.argv[1]).report("exits")
    rows.__arrow_c_stream__()  # nobody takes it
    batch = _arrow.Batch("none", [1, "x", None])  # kinds differ
    assert batch.format == b"u" and batch.nulls == 1 and bytes(batch.buffers[2])[:2] == b"1x"
    batch = _arrow.Batch("integer", [1, 1 << 63])  # as a caller may add to rows
    assert batch.format == b"u" and bytes(batch.buffers[2])[:20] == b"19223372036854775808"
    gc.collect()
    assert not _arrow._kept and not _arrow._streams, "not released"
    print(total, "rows")


if __name__ == "__main__":
    main()
