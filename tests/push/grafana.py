#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of Grafana's API a data source is added with, for tests; Python's standard library alone.

usage: grafana.py DIR [PORT]

Takes POST /api/datasources as Grafana does: JSON with name, type and access, from admin by HTTP Basic; 409 for a name that is
there already. DIR/port is written when it listens, each source that it takes is a line of DIR/sources.
"""
import base64
import http.server
import json
import os
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, what):
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        login = b"Basic " + base64.b64encode(b"admin:admin")
        if self.headers.get("Authorization", "").encode() != login:
            return self.answer(401, {"message": "Invalid username or password"})
        if self.path != "/api/datasources" or self.headers.get("Content-Type") != "application/json":
            return self.answer(404, {"message": "Not found"})
        try:
            source = json.loads(body)
        except ValueError:
            return self.answer(400, {"message": "bad request data"})
        if not all(source.get(k) for k in ("name", "type", "access")) or source["access"] not in ("proxy", "direct"):
            return self.answer(400, {"message": "bad request data"})
        if source["name"] in self.server.names:
            return self.answer(409, {"message": "data source with the same name already exists"})
        self.server.names.add(source["name"])
        with open(os.path.join(self.server.directory, "sources"), "a") as f:
            f.write(json.dumps(source, sort_keys=True) + "\n")
        return self.answer(200, {"message": "Datasource added", "name": source["name"]})


def main():
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    httpd.directory, httpd.names = sys.argv[1], set()
    with open(os.path.join(httpd.directory, "port.new"), "w") as f:
        f.write(str(httpd.server_address[1]))
    os.rename(os.path.join(httpd.directory, "port.new"), os.path.join(httpd.directory, "port"))
    httpd.serve_forever()


main()
