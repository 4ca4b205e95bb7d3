# Reads RowBinaryWithNamesAndTypes and prints the rows as JSON lines; a field has its number, its text and the number in
# hexadecimal. What all rows share goes to stderr.
import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
at = 0


def varint():
    global at
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value


def number(form):
    global at
    (value,) = struct.unpack_from("<" + form, data, at)
    at += struct.calcsize("<" + form)
    return value


def text():
    global at
    length = varint()
    at += length
    return data[at - length : at].decode()


FORMS = {"UInt16": "H", "Date": "H", "UInt32": "I", "Int32": "i", "UInt64": "Q", "Int64": "q"}


def value(kind):
    if kind == "String":
        return text()
    if kind.startswith("Array("):
        return [value(kind[6:-1]) for _ in range(varint())]
    return number(FORMS[kind])


nr = varint()
names = [text() for _ in range(nr)]
kinds = [text() for _ in range(nr)]
rows = 0
while at < len(data):
    r = {n: value(k) for n, k in zip(names, kinds)}
    assert r["row"] == rows and r["upload"] == 0
    rows += 1
    trace = {k: r[k] for k in ("day", "host", "trace", "offset_ns")}
    if rows == 1:
        print(json.dumps(trace), file=sys.stderr)
        first = trace
    assert trace == first
    fields = {}
    for name, num, word in zip(r["field_names"], r["field_numbers"], r["field_texts"]):
        fields[name] = [num, word, hex(num & (1 << 64) - 1)]
    own = {k: r[k] for k in ("time_ns", "source", "cpu", "vcpu", "tid", "comm", "event", "chunk", "vm")}
    print(json.dumps({**own, "fields": fields}))
