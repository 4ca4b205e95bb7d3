#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Receives OpenTelemetry's metrics: otlp_receiver.py MODE_FILE

Prints the port it listens on. Each request becomes the file "sent" (samples as in Prometheus' text format) and
"sent.head" (the request's head). MODE_FILE says how the next request is answered: ok, partial, page (which is no answer), fail, or hang: then there is a
file "hung.N" until the sender closes the connection.
The wire format is read here, without a library and without the program's own definitions:
https://protobuf.dev/programming-guides/encoding/
"""
import http.server
import itertools
import os
import struct
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{number: [value, ...]} of a message; integers, and bytes of the rest"""
    ret, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if tag & 7 == 2 else (8 if tag & 7 == 1 else 4, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "the message ends early"
        ret.setdefault(tag >> 3, []).append(value)
    return ret


def labels(pairs):
    ret = []
    for pair in map(fields, pairs):
        value = fields(pair[2][0]).get(1, [b""])[0].decode()
        ret.append('%s="%s"' % (pair[1][0].decode(), value))
    return "{" + ",".join(ret) + "}"


def number(data, form):
    return struct.unpack("<" + form, data)[0]


def packed(data, form):
    return struct.unpack("<%d%s" % (len(data) // 8, form), data)


def samples(metric):
    """Lines of a Metric."""
    name = metric[1][0].decode()
    for kind in (5, 7):  # Gauge, Sum
        for point in map(fields, fields(metric[kind][0])[1] if kind in metric else []):
            value = number(point[4][0], "d") if 4 in point else number(point[6][0], "q")
            yield "%s%s%s %s" % (name, "_total" if kind == 7 else "", labels(point.get(7, [])), value)
    for point in map(fields, fields(metric[9][0])[1] if 9 in metric else []):  # Histogram
        assert sum(packed(point[6][0], "Q")) == number(point[4][0], "Q"), "counts"
        yield "%s_count%s %d" % (name, labels(point.get(9, [])), number(point[4][0], "Q"))
        yield "%s_sum%s %s" % (name, labels(point.get(9, [])), number(point[5][0], "d"))
    for point in map(fields, fields(metric[10][0])[1] if 10 in metric else []):  # ExponentialHistogram
        yield "%s_exponential_count%s %d" % (name, labels(point.get(1, [])), number(point[4][0], "Q"))


def write(path, text):
    with open(path + ".tmp", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".tmp", path)


class Receiver(http.server.BaseHTTPRequestHandler):
    hung = itertools.count(1)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        resource = fields(fields(body)[1][0])
        scope = fields(resource[2][0])
        lines = ["# " + labels(fields(resource[1][0])[1])]
        for metric in scope[2]:
            lines += samples(fields(metric))
        write("sent.head", "%s\n%s" % (self.requestline, self.headers))
        write("sent", "\n".join(lines) + "\n")
        with open(sys.argv[1], encoding="utf-8") as f:
            mode = f.read().strip()
        if mode == "hang":
            path = "hung.%d" % next(self.hung)
            write(path, "")
            self.connection.recv(1)  # returns when the sender closes the connection
            os.unlink(path)
            return
        self.send_response(503 if mode == "fail" else 200)
        self.end_headers()
        if mode == "page":
            self.wfile.write(b"<html>")
        if mode == "partial":
            self.wfile.write(b"\x0a\x0b\x08\x07\x12\x07too old")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
