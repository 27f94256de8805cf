#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server with the limits of Grafana Pyroscope's push API, for tests; Python's standard library alone.

usage: pyroscope.py DIR [--tls CERT KEY [CLIENT-CA]] [--expect 'Name: value']... [--port PORT] [--keep]

DIR/port is written when it listens (on 127.0.0.1). Each request that it takes is a line of DIR/taken (JSON: labels, sample
type, period, sums by label, times; with --keep DIR/N.pb.gz is the profile of line N), each that it does not one of DIR/refused. DIR/mode, if it is there, says how it behaves, and
is read anew for each request:

    ok                      as Pyroscope (the default)
    status CODE [SECONDS]   answers CODE to all, without Retry-After, or with so many seconds
    poison NAME             500 to each series of that __name__
    reset                   closes the connection without an answer
    hang                    never answers
    huge                    200, with 64 MB of answer
    endless                 200, with an answer that never ends
    drip                    200, with one byte of a header each second
    redirect URL            307
    page CODE               CODE and a page in HTML, as a web server has it

A field that the schemas (push.v1, perftools.profiles) do not have is refused with 400 and named.
"""
import gzip
import http.server
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

BURST, RATE = 2 * 1024 * 1024, 4 * 1024 * 1024  # bytes of profiles before compression: at once, and a second
PROFILE_MOST, SAMPLES_MOST, LABELS_MOST = 4 * 1024 * 1024, 16000, 30
NAME_MOST, VALUE_MOST, SYMBOL_MOST = 1024, 2048, 65535
OLDEST_S, NEWEST_S = 3600, 600


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


def invalid(message):
    return Refused(400, "invalid_argument", message)


class Corrupt(Exception):
    """Pyroscope answers 500 to it."""


# ---- protocol buffers -------------------------------------------------------------------------

def varint(b, at):
    v = shift = 0
    while True:
        if at >= len(b) or shift > 63:
            raise Corrupt("a number is cut")
        v |= (b[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not b[at - 1] & 0x80:
            return v, at


def fields(b, what, schema):
    """(number, value) of each field; schema: number -> wire type, packed numbers have "packed"."""
    at = 0
    while at < len(b):
        tag, at = varint(b, at)
        number, wire = tag >> 3, tag & 7
        if number not in schema:
            raise invalid(f"{what} has no field {number}")
        want = schema[number]
        if wire == 0:
            v, at = varint(b, at)
        elif wire == 2:
            n, at = varint(b, at)
            if at + n > len(b):
                raise Corrupt(f"{what}: field {number} is cut")
            v, at = b[at:at + n], at + n
        else:
            raise Corrupt(f"{what}: wire type {wire}")
        if want == "packed" and wire == 2:
            i = 0
            while i < len(v):
                one, i = varint(v, i)
                yield number, one
            continue
        if (want == "bytes") != (wire == 2):
            raise invalid(f"{what}: field {number} is of another type")
        yield number, v


def signed(v):
    return v - (1 << 64) if v >> 63 else v


I, B, P = "int", "bytes", "packed"
PROFILE = {1: B, 2: B, 3: B, 4: B, 5: B, 6: B, 7: I, 8: I, 9: I, 10: I, 11: B, 12: I, 13: P, 14: I, 15: I}
VALUE_TYPE, SAMPLE, LABEL = {1: I, 2: I}, {1: P, 2: P, 3: B}, {1: I, 2: I, 3: I, 4: I}
LOCATION, LINE, FUNCTION = {1: I, 2: I, 3: I, 4: B, 5: I}, {1: I, 2: I, 3: I}, {1: I, 2: I, 3: I, 4: I, 5: I}


def pprof(raw):
    """What a profile says, checked as google/pprof and Pyroscope do."""
    p = {"types": [], "samples": [], "locations": {}, "functions": {}, "strings": [], "time": 0, "duration": 0,
         "period": 0, "period_type": (0, 0)}
    for n, v in fields(raw, "Profile", PROFILE):
        if n in (1, 11):
            t = dict(fields(v, "ValueType", VALUE_TYPE))
            t = (t.get(1, 0), t.get(2, 0))
            if n == 1:
                p["types"].append(t)
            else:
                p["period_type"] = t
        elif n == 2:
            s = {"at": [], "v": [], "labels": []}
            for k, x in fields(v, "Sample", SAMPLE):
                if k == 3:
                    s["labels"].append(dict(fields(x, "Label", LABEL)))
                else:
                    s["at" if k == 1 else "v"].append(signed(x))
            p["samples"].append(s)
        elif n == 4:
            loc, lines = 0, []
            for k, x in fields(v, "Location", LOCATION):
                if k == 1:
                    loc = x
                elif k == 4:
                    lines.append(dict(fields(x, "Line", LINE)).get(1, 0))
            if not loc or loc in p["locations"]:
                raise Corrupt("a location of no number, or of another's")
            p["locations"][loc] = lines
        elif n == 5:
            f = dict(fields(v, "Function", FUNCTION))
            if not f.get(1) or f[1] in p["functions"]:
                raise Corrupt("a function of no number, or of another's")
            p["functions"][f[1]] = f.get(2, 0)
        elif n == 6:
            p["strings"].append(v.decode("utf-8"))
        elif n == 9:
            p["time"] = signed(v)
        elif n == 10:
            p["duration"] = signed(v)
        elif n == 12:
            p["period"] = signed(v)
    return p


def text(p, i):
    if not 0 <= i < len(p["strings"]):
        raise Corrupt("a string that is not there")
    return p["strings"][i]


def pprof_checked(p):
    if not p["strings"] or p["strings"][0]:
        raise Corrupt("string 0 is not empty")
    for s in p["strings"]:
        if len(s) > SYMBOL_MOST:
            raise invalid("a symbol too long")
    if not p["types"]:
        raise Corrupt("no sample type")
    for t, _ in p["types"]:
        if "-" in text(p, t):
            raise invalid("a sample type contains '-'")
    for lines in p["locations"].values():
        for f in lines:
            text(p, p["functions"][f])
    seen = set()
    for s in p["samples"]:
        if len(s["v"]) != len(p["types"]):
            raise Corrupt("a sample with another number of values")
        for a in s["at"]:
            p["locations"][a]
        for l in s["labels"]:
            if not text(p, l.get(1, 0)):
                raise invalid("a label without a name")
            if len(text(p, l.get(2, 0))) > VALUE_MOST:
                raise invalid("a label too long")
        key = (tuple(s["at"]), tuple(sorted((l.get(1, 0), l.get(2, 0), l.get(3, 0)) for l in s["labels"])))
        if key in seen:
            raise invalid("two samples of one stack and the same labels")
        seen.add(key)


# ---- the push API ---------------------------------------------------------------------------------

class Server:
    def __init__(self, directory, keep):
        self.dir, self.keep, self.kept = directory, keep, 0
        self.lock = threading.Lock()
        self.tokens, self.then = float(BURST), time.monotonic()

    def mode(self):
        try:
            with open(os.path.join(self.dir, "mode")) as f:
                return f.read().split() or ["ok"]
        except FileNotFoundError:
            return ["ok"]

    def note(self, name, what):
        with self.lock, open(os.path.join(self.dir, name), "a") as f:
            f.write(json.dumps(what, sort_keys=True) + "\n")

    def rate(self, n):
        with self.lock:
            now = time.monotonic()
            self.tokens = min(BURST, self.tokens + (now - self.then) * RATE)
            self.then = now
            if n > self.tokens:
                raise Refused(429, "resource_exhausted", f"push rate limit exceeded: {n} bytes")
            self.tokens -= n

    def labels(self, v):
        l = {}
        for _, x in v:
            pair = {n: y.decode("utf-8") for n, y in fields(x, "LabelPair", {1: B, 2: B})}
            name, value = pair.get(1, ""), pair.get(2, "")
            if not name or len(name) > NAME_MOST or not all(c.isascii() and (c.isalnum() or c == "_") for c in name):
                raise invalid(f"invalid labels: {name!r}")
            if not value or len(value) > VALUE_MOST:
                raise invalid(f"invalid value of label {name!r}")
            if name in l:
                raise invalid(f"label {name!r} twice")
            l[name] = value
        if "__name__" not in l:
            raise invalid("no __name__")
        return l

    def series(self, b, packed):
        labels, samples = [], []
        for n, v in fields(b, "RawProfileSeries", {1: B, 2: B, 3: B}):
            (labels if n == 1 else samples).append((n, v))
        labels = self.labels(labels)
        mode = self.mode()
        if mode[0] == "poison" and labels["__name__"] == mode[1]:
            raise Corrupt("poison")
        for _, v in samples:
            raw = dict(fields(v, "RawSample", {1: B, 2: B})).get(1, b"")
            if raw[:2] == b"\x1f\x8b":
                raw = gzip.decompress(raw)
            self.rate(len(raw))
            self.profile(labels, raw, packed)

    def profile(self, labels, raw, packed):
        p = pprof(raw)
        pprof_checked(p)
        if len(raw) > PROFILE_MOST:
            raise invalid("profile too large")
        if len(p["samples"]) > SAMPLES_MOST:
            raise invalid("too many samples")
        names = set(labels)
        sums, total = {}, [0] * len(p["types"])
        for s in p["samples"]:
            own = {text(p, l.get(1, 0)): text(p, l.get(2, 0)) or l.get(3, 0) for l in s["labels"]}
            if len(names | set(own)) > LABELS_MOST:
                raise invalid("too many labels")
            key = " ".join(f"{k}={own[k]}" for k in sorted(own))
            for i, v in enumerate(s["v"]):
                total[i] += v
            sums[key] = sums.get(key, 0) + s["v"][-1]
        age = time.time() - p["time"] / 1e9
        if age > OLDEST_S or age < -NEWEST_S:
            raise invalid("profile outside of the time window")
        if self.keep:
            with self.lock:
                self.kept += 1
                with open(os.path.join(self.dir, f"{self.kept}.pb.gz"), "wb") as f:
                    f.write(gzip.compress(raw))
        frames = sorted({text(p, p["functions"][f]) for at in p["locations"].values() for f in at})
        self.note("taken", {
            "labels": labels, "types": ["/".join((text(p, t), text(p, u))) for t, u in p["types"]], "total": total,
            "sums": sums, "samples": len(p["samples"]), "period": p["period"],
            "period_type": "/".join(text(p, i) for i in p["period_type"]), "time": p["time"],
            "duration": p["duration"], "raw": len(raw), "packed": packed, "frames": frames})

    def push(self, body):
        for _, v in fields(body, "PushRequest", {1: B}):
            try:
                self.series(v, len(body))
            except (KeyError, IndexError, UnicodeDecodeError, OSError, EOFError, struct.error) as e:
                raise Corrupt(repr(e)) from e


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, status, body, extra=()):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def refuse(self, status, code, message, extra=()):
        self.server.push_server.note("refused", {"status": status, "message": message})
        self.answer(status, json.dumps({"code": code, "message": message}, separators=(",", ":")).encode(), extra)

    def odd(self, mode):
        """True: the mode has answered, in its way."""
        if mode[0] == "status":
            self.refuse(int(mode[1]), "unavailable", "as the test wants it",
                        [("Retry-After", mode[2])] if len(mode) > 2 else [])
        elif mode[0] == "page":
            self.answer(int(mode[1]), b"<!DOCTYPE HTML>\n<html lang='en'>\n  <head><title>Not  here</title></head>\n  <body>\n"
                        b"    <p>Try <b>elsewhere</b>.</p>\n  </body>\n</html>\n")
        elif mode[0] == "redirect":
            self.answer(307, b"", [("Location", mode[1])])
        elif mode[0] == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        elif mode[0] == "hang":
            time.sleep(3600)
        elif mode[0] in ("huge", "endless"):
            self.send_response(200)
            if mode[0] == "huge":
                self.send_header("Content-Length", str(64 << 20))
            self.end_headers()
            left = 64 if mode[0] == "huge" else 1 << 40
            while left:
                self.wfile.write(b"x" * (1 << 20))
                left -= 1
        elif mode[0] == "drip":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(1)
        else:
            return False
        return True

    def expected(self):
        for want in self.server.expect:
            name, value = want.split(": ", 1)
            if self.headers.get(name) != value:
                raise Refused(401, "unauthenticated", f"{name} is {self.headers.get(name)!r}")

    def do_POST(self):
        server = self.server.push_server
        mode = server.mode()
        try:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.note("seen", {"path": self.path, "mode": mode})
            if self.odd(mode):
                self.close_connection = True
                return
            self.expected()
            if not self.path.endswith("/push.v1.PusherService/Push"):
                raise Refused(404, "not_found", self.path)
            if self.headers.get("Content-Type") != "application/proto":
                raise Refused(415, "unknown", "content type " + str(self.headers.get("Content-Type")))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            server.push(body)
            self.answer(200, b"")
        except Refused as r:
            self.refuse(r.status, r.code, str(r))
        except Corrupt as c:
            self.refuse(500, "internal", str(c))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # a client that goes away


def main():
    directory, rest = sys.argv[1], sys.argv[2:]
    expect = []
    tls, port, keep = None, 0, False
    while rest:
        if rest[0] == "--expect":
            expect.append(rest[1])
            rest = rest[2:]
        elif rest[0] == "--port":
            port = int(rest[1])
            rest = rest[2:]
        elif rest[0] == "--keep":
            keep = True
            rest = rest[1:]
        elif rest[0] == "--tls":
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(rest[1], rest[2])
            rest = rest[3:]
            if rest and not rest[0].startswith("--"):
                tls.verify_mode = ssl.CERT_REQUIRED
                tls.load_verify_locations(rest[0])
                rest = rest[1:]
        else:
            sys.exit(__doc__)
    httpd = Quiet(("127.0.0.1", port), Handler)
    httpd.push_server, httpd.expect = Server(directory, keep), expect
    if tls:
        httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
    with open(os.path.join(directory, "port.new"), "w") as f:
        f.write(str(httpd.server_address[1]))
    os.rename(os.path.join(directory, "port.new"), os.path.join(directory, "port"))
    httpd.serve_forever()


if __name__ == "__main__":
    main()
