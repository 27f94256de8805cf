#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles, held against the published definitions (PyPI's opentelemetry-proto) and the rules that the protocol has
beside these.

usage: otlp.py serve DIR        a server on 127.0.0.1: DIR/port when it listens; a request that keeps to the rules is kept as
                                DIR/N.pb, of the others DIR/refused has what is wrong; DIR/mode "partial" rejects all, in
                                OTLP's way
       otlp.py check FILE...    says what is wrong with requests; exit code 1 then
       otlp.py sums FILE...     "KIND NANOSECONDS SAMPLES" of requests
       otlp.py collected FILE   the same of what a collector's fileexporter wrote (JSON), references resolved
       otlp.py links FILE...    "TRACE SPAN" of the samples that have a link, each pair once
       otlp.py builds FILE...   "NAME BUILD-ID" of the mappings, each pair once
       otlp.py queued FILE...   nanoseconds of the samples that were queued for a CPU, as their attributes say
       otlp.py resources FILE...  "KEY=VALUE" of the resources, each once
       otlp.py spoil DIR FILE...  writes requests in which one thing is wrong each: check has to find fault with every one
"""
import gzip
import http.server
import json
import os
import sys

from google.protobuf import unknown_fields
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
from opentelemetry.proto.profiles.v1development import profiles_pb2 as profiles

BUILD_IDS = ("process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash")
TABLES = ("mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table", "stack_table")


def unknown(message, path, wrong):
    """Fields of no schema, in it and in all that it holds."""
    if len(unknown_fields.UnknownFieldSet(message)):
        wrong.append(f"{path}: a field that the schema does not have")
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        several = not hasattr(value, "ListFields")
        for i, one in enumerate(value if several else [value]):
            unknown(one, f"{path}.{field.name}[{i}]", wrong)


class Judge:
    def __init__(self, request):
        self.r, self.d, self.wrong = request, request.dictionary, []
        self.used = {t: {0} for t in TABLES}

    def say(self, what):
        self.wrong.append(what)

    def ref(self, table, i, what):
        """The entry, which counts as used; None: there is none."""
        entries = getattr(self.d, table)
        if not 0 <= i < len(entries):
            self.say(f"{what}: no entry {i} in {table}")
            return None
        self.used[table].add(i)
        return entries[i]

    def text(self, i, what):
        return self.ref("string_table", i, what)

    def attributes(self, indices, what):
        """Their values by key, and what these are counted in."""
        keys, values = [], {}
        for i in indices:
            if i == 0:
                self.say(f"{what}: attribute 0")
            a = self.ref("attribute_table", i, what)
            if a is not None:
                keys.append(self.text(a.key_strindex, what))
                values[keys[-1]] = (getattr(a.value, a.value.WhichOneof("value") or "string_value"),
                                    self.text(a.unit_strindex, what))
                if not keys[-1]:
                    self.say(f"{what}: an attribute without a key")
                if a.value.WhichOneof("value") is None:
                    self.say(f"{what}: attribute {keys[-1]} without a value")
        if len(set(keys)) != len(keys):
            self.say(f"{what}: two attributes of one key")
        return values

    def tables(self):
        for t in TABLES:
            entries = list(getattr(self.d, t))
            if not entries:
                self.say(f"{t} has no entry 0")
                continue
            zero = "" if t == "string_table" else type(entries[0])()
            if entries[0] != zero:
                self.say(f"entry 0 of {t} is not the zero value")
            plain = [e if t == "string_table" else e.SerializeToString(deterministic=True) for e in entries]
            if len(set(plain)) != len(plain):
                self.say(f"{t} has an entry twice")

    def stack(self, i, what):
        s = self.ref("stack_table", i, what)
        for k in s.location_indices if s is not None else ():
            loc = self.ref("location_table", k, what)
            if loc is None:
                continue
            if k == 0:
                self.say(f"{what}: location 0")
            m = self.ref("mapping_table", loc.mapping_index, what)
            if m is not None and loc.mapping_index:
                self.mapping(m, f"{what}: mapping {loc.mapping_index}")
            frame = self.attributes(loc.attribute_indices, what).get("profile.frame.type")
            if frame not in (("jvm", ""), ("native", ""), ("kernel", "")):
                self.say(f"{what}: a frame of type {frame}")
            if loc.mapping_index and frame != ("native", ""):
                self.say(f"{what}: a mapping of a frame of type {frame}")
            for line in loc.lines:
                f = self.ref("function_table", line.function_index, what)
                if f is not None:
                    if not self.text(f.name_strindex, what):
                        self.say(f"{what}: a function without a name")
                    self.text(f.system_name_strindex, what)
                    self.text(f.filename_strindex, what)

    def mapping(self, m, what):
        """specification/profiles/mappings.md: which build it is of."""
        found = self.attributes(m.attribute_indices, what)
        if not any(k in found for k in BUILD_IDS):
            self.say(f"{what}: it has no build id")
        if not self.text(m.filename_strindex, what):
            self.say(f"{what}: it has no name")
        if not m.memory_start < m.memory_limit:
            self.say(f"{what}: it is empty")

    def thread(self, p, s, what):
        """What each sample of ours says of its thread."""
        found = self.attributes(s.attribute_indices, what)
        state = found.get("thread.state", (None,))[0]
        queued = found.get("thread.queued_time")
        if not found.get("thread.name", ("",))[0] or not state:
            self.say(f"{what}: no thread or no state")
        if not isinstance(found.get("thread.id", (1,))[0], int):
            self.say(f"{what}: a thread's id that is no number")
        if (state == "QUEUED" and bool(s.values)) != (queued is not None) or (queued and queued != (sum(s.values), "ns")):
            self.say(f"{what}: state {state}, queued {queued} of {list(s.values)}")

    def profile(self, p, what):
        shapes, seen = set(), set()
        self.text(p.sample_type.type_strindex, what)
        self.text(p.sample_type.unit_strindex, what)
        self.text(p.period_type.type_strindex, what)
        self.text(p.period_type.unit_strindex, what)
        self.attributes(p.attribute_indices, what)
        if len(p.profile_id) != 16 or not any(p.profile_id):
            self.say(f"{what}: an id of {len(p.profile_id)} bytes, or zero")
        if not p.time_unix_nano or not p.duration_nano:
            self.say(f"{what}: no time or no duration")
        for i, s in enumerate(p.samples):
            at = f"{what}.samples[{i}]"
            shapes.add((bool(s.values), bool(s.timestamps_unix_nano)))
            if s.values and s.timestamps_unix_nano and len(s.values) != len(s.timestamps_unix_nano):
                self.say(f"{at}: not as many values as times")
            if not s.values and not s.timestamps_unix_nano:
                self.say(f"{at}: neither values nor times")
            for t in s.timestamps_unix_nano:
                if not p.time_unix_nano <= t < p.time_unix_nano + p.duration_nano:
                    self.say(f"{at}: a time outside of the profile")
                    break
            if any(v < 0 for v in s.values):
                self.say(f"{at}: a negative value")
            self.stack(s.stack_index, at)
            self.thread(p, s, at)
            link = self.ref("link_table", s.link_index, at)
            if link is not None and s.link_index and (len(link.trace_id), len(link.span_id)) != (16, 8):
                self.say(f"{at}: a link of other lengths")
            key = (s.stack_index, tuple(sorted(s.attribute_indices)), s.link_index)
            if key in seen:
                self.say(f"{at}: the second of its stack, attributes and link")
            seen.add(key)
        if len(shapes) > 1:
            self.say(f"{what}: samples of several shapes")

    def judge(self):
        unknown(self.r, "request", self.wrong)
        self.tables()
        if not self.r.resource_profiles:
            self.say("no resource")
        for i, rp in enumerate(self.r.resource_profiles):
            names = [a.key for a in rp.resource.attributes]
            if len(set(names)) != len(names) or not all(names):
                self.say(f"resource {i}: attributes of one key, or of none")
            if any(a.key == "process.pid" and a.value.int_value <= 0 for a in rp.resource.attributes):
                self.say(f"resource {i}: process.pid is none")
            if "service.name" not in names:
                self.say(f"resource {i}: no service.name")
            for k, sp in enumerate(rp.scope_profiles):
                for n, p in enumerate(sp.profiles):
                    self.profile(p, f"resource[{i}].scope[{k}].profile[{n}]")
        for t in TABLES:
            for i in range(len(getattr(self.d, t))):
                if i not in self.used[t]:
                    self.say(f"entry {i} of {t} is used by nothing")
        return self.wrong


def read(body):
    request = service.ExportProfilesServiceRequest()
    request.ParseFromString(body)
    return request


def judged(body):
    try:
        return Judge(read(body)).judge()
    except DecodeError as e:
        return [f"no request: {e}"]


def sums_of(requests):
    sums = {}
    for r in requests:
        s = r.dictionary.string_table
        for rp in r.resource_profiles:
            for sp in rp.scope_profiles:
                for p in sp.profiles:
                    kind = "/".join((s[p.sample_type.type_strindex], s[p.sample_type.unit_strindex]))
                    for x in p.samples:
                        n = sum(x.values) if x.values else len(x.timestamps_unix_nano)
                        one = sums.setdefault(kind, [0, 0])
                        one[0] += n * (p.period or 1)
                        one[1] += len(x.timestamps_unix_nano) or 1
    return sums


def samples_of(requests):
    for r in requests:
        for rp in r.resource_profiles:
            for sp in rp.scope_profiles:
                for p in sp.profiles:
                    for s in p.samples:
                        yield r.dictionary, s


def links_of(requests):
    for d, s in samples_of(requests):
        if s.link_index:
            yield f"{d.link_table[s.link_index].trace_id.hex()} {d.link_table[s.link_index].span_id.hex()}"


def attributes_of(d, indices):
    for i in indices:
        yield d.string_table[d.attribute_table[i].key_strindex], d.attribute_table[i].value


def builds_of(requests):
    for r in requests:
        d = r.dictionary
        for m in d.mapping_table[1:]:
            for key, value in attributes_of(d, m.attribute_indices):
                if key in BUILD_IDS:
                    yield f"{d.string_table[m.filename_strindex]} {value.string_value}"


def queued_of(requests):
    return sum(value.int_value for d, s in samples_of(requests)
               for key, value in attributes_of(d, s.attribute_indices) if key == "thread.queued_time")


def resources_of(requests):
    for r in requests:
        for rp in r.resource_profiles:
            for a in rp.resource.attributes:
                yield f"{a.key}={a.value.int_value or a.value.string_value}"


def collected(path):
    """A collector writes names of its own for resources, and JSON: only profiles and the dictionary are looked at."""
    sums = {}
    for line in open(path):
        r = json.loads(line)
        s = r["dictionary"]["stringTable"]
        for rp in r["resourceProfiles"]:
            for sp in rp["scopeProfiles"]:
                for p in sp["profiles"]:
                    t = p["sampleType"]
                    kind = "/".join(s[int(t.get(k, 0))] for k in ("typeStrindex", "unitStrindex"))
                    for x in p.get("samples", p.get("sample", [])):
                        values, times = x.get("values", []), x.get("timestampsUnixNano", [])
                        n = sum(map(int, values)) if values else len(times)
                        one = sums.setdefault(kind, [0, 0])
                        one[0] += n * (int(p.get("period", 0)) or 1)
                        one[1] += len(times) or 1
                        for k in r["dictionary"]["stackTable"][int(x.get("stackIndex", 0))].get("locationIndices", []):
                            for l in r["dictionary"]["locationTable"][int(k)]["lines"]:
                                f = r["dictionary"]["functionTable"][int(l["functionIndex"])]
                                assert s[int(f["nameStrindex"])], "a function without a name"
    return sums


def spoil(directory, bodies):
    """Each of these is one thing that may go wrong; a request that does not have the thing says so by False."""
    def first(r):
        return r.resource_profiles[0].scope_profiles[0].profiles[0]

    def index(r):
        first(r).samples[0].stack_index = len(r.dictionary.stack_table)

    def orphan(r):
        r.dictionary.string_table.append("used by nothing")

    def zero(r):
        r.dictionary.function_table[0].start_line = 1

    def twice(r):
        r.dictionary.string_table.append(r.dictionary.string_table[1])

    def early(r):
        p = first(r)
        p.time_unix_nano = 0 if p.samples[0].values else p.time_unix_nano + p.duration_nano + 1

    def shape(r):
        x = first(r).samples[0]
        if len(first(r).samples) < 2:
            return False
        if x.values:
            del x.values[:]
            x.timestamps_unix_nano.append(first(r).time_unix_nano)
        else:
            del x.timestamps_unix_nano[:]
            x.values.append(1)

    def same(r):
        first(r).samples.append(first(r).samples[0])

    def short(r):
        first(r).profile_id = b"12345678"

    def nameless(r):
        del r.resource_profiles[0].resource.attributes[:]

    def keys(r):
        x = first(r).samples[0].attribute_indices
        x.append(x[0])

    def build(r):
        if len(r.dictionary.mapping_table) < 2:
            return False
        del r.dictionary.mapping_table[1].attribute_indices[:]

    def link(r):
        if len(r.dictionary.link_table) < 2:
            return False
        r.dictionary.link_table[1].span_id = b"1234"

    def queued(r):
        for _, x in samples_of([r]):
            if any(key == "thread.queued_time" for key, _ in attributes_of(r.dictionary, x.attribute_indices)):
                x.values[0] += 1
                return None
        return False

    def pid(r):
        for a in r.resource_profiles[0].resource.attributes:
            if a.key == "process.pid":
                a.value.string_value = "4711"
                return None
        return False

    for how in (index, orphan, zero, twice, early, shape, same, short, nameless, keys, build, link, queued, pid):
        for body in bodies:
            r = read(body)
            if how(r) is not False:
                break
        else:
            sys.exit(f"no request has what '{how.__name__}' spoils")
        with open(os.path.join(directory, how.__name__ + ".pb"), "wb") as f:
            f.write(r.SerializeToString())
    with open(os.path.join(directory, "field.pb"), "wb") as f:
        f.write(bodies[0] + b"\xf8\x06\x01")  # field 111
    with open(os.path.join(directory, "cut.pb"), "wb") as f:
        f.write(bodies[0][:-3])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        directory = self.server.directory
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wrong = []
        if self.path != "/v1development/profiles":
            wrong.append("path " + self.path)
        if self.headers.get("Content-Type") != "application/x-protobuf":
            wrong.append("content type " + str(self.headers.get("Content-Type")))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        wrong += judged(body)
        if wrong:
            with open(os.path.join(directory, "refused"), "a") as f:
                f.write("\n".join(wrong[:20]) + "\n")
            self.answer(400, wrong[0].encode())
            return
        if os.path.exists(os.path.join(directory, "mode")):
            response = service.ExportProfilesServiceResponse()
            response.partial_success.rejected_profiles = 1
            response.partial_success.error_message = "as the test wants it"
            self.answer(200, response.SerializeToString())
            return
        self.server.n += 1
        with open(os.path.join(directory, f"{self.server.n}.pb"), "wb") as f:
            f.write(body)
        self.answer(200)


def serve(directory):
    httpd = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    httpd.directory, httpd.n = directory, 0
    with open(os.path.join(directory, "port.new"), "w") as f:
        f.write(str(httpd.server_address[1]))
    os.rename(os.path.join(directory, "port.new"), os.path.join(directory, "port"))
    httpd.serve_forever()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    what, files = sys.argv[1], sys.argv[2:]
    if what == "serve":
        serve(files[0])
    elif what == "check":
        wrong = [f"{f}: {w}" for f in files for w in judged(open(f, "rb").read())]
        print("\n".join(wrong[:50]))
        sys.exit(1 if wrong else 0)
    elif what in ("sums", "collected"):
        sums = collected(files[0]) if what == "collected" else sums_of([read(open(f, "rb").read()) for f in files])
        for kind in sorted(sums):
            print(kind, *sums[kind])
    elif what in ("links", "builds", "resources"):
        of = {"links": links_of, "builds": builds_of, "resources": resources_of}[what]
        print("\n".join(sorted(set(of([read(open(f, "rb").read()) for f in files])))))
    elif what == "queued":
        print(queued_of([read(open(f, "rb").read()) for f in files]))
    elif what == "spoil":
        spoil(files[0], [open(f, "rb").read() for f in files[1:]])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
