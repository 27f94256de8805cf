#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kubelet's GET /pods, for tests; Python's standard library alone.

usage: kubelet.py DIR CERT KEY TOKEN

Answers with DIR/pods, by TLS, to who has the token, else 401; DIR/port is written when it listens, DIR/asked has a line for each
request.
"""
import http.server
import os
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        directory, token = self.server.directory, self.server.token
        with open(os.path.join(directory, "asked"), "a") as f:
            f.write(self.path + "\n")
        known = self.headers.get("Authorization") == "Bearer " + token
        status = 401 if not known else 200 if self.path == "/pods" else 404
        body = open(os.path.join(directory, "pods"), "rb").read() if status == 200 else b"no"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    directory, cert, key, token = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.directory, server.token = directory, token
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(os.path.join(directory, "port.new"), "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(directory, "port.new"), os.path.join(directory, "port"))
    server.serve_forever()


main()
