"""Stands between a suite of A2A and an organism: it adds the token that the suite does not have, and copies the id of each
message before its first text, by which the suite says what the agent is to do. The suite gives one id to many messages, so
each that begins a task gets one of its own: here the same message twice is one. Nothing else of a request is changed. In
the answers its texts stand as the suite has written them, and the card has the address of this proxy, so that the suite
comes back this way.

It keeps what the organism was sent and has answered, in the order in which it began, so that it can be sent again without
the suite: replay.py beside this file does that."""

import http.client
import itertools
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KEPT_HEADERS = ("accept", "content-type", "a2a-version", "a2a-extensions", "if-none-match")
NUMBERS = itertools.count(1)
# What begins and ends, one after the other.
MOMENTS = itertools.count(1)
# The texts that were sent on, and how the suite has written them.
STEERED = {}


def steer(body):
    """The same message, with its id before its first text."""
    try:
        request = json.loads(body)
        message = request.get("params", request)["message"]
        part = next(part for part in message["parts"] if isinstance(part.get("text"), str))
        written, part["text"] = part["text"], f"{message['messageId']} {part['text']}"
        STEERED[part["text"]] = written
        if not message.get("taskId"):
            message["messageId"] += f"-{next(NUMBERS)}"
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration):
        return body
    return json.dumps(request).encode()


def restore(value):
    """The same answer, with the texts as the suite has written them."""
    if isinstance(value, dict):
        return {key: restore(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [restore(inside) for inside in value]
    return STEERED.get(value, value) if isinstance(value, str) else value


class SteeringProxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = steer(self.rfile.read(length)) if length else b""
        to = self.server.organism
        own = ("host", "content-length", "accept-encoding")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in own}
        headers["Authorization"] = f"Bearer {self.server.token}"
        kept = {"method": self.command, "path": self.path, "body": body.decode(errors="replace"), "began": next(MOMENTS),
                "headers": {name.lower(): value for name, value in headers.items() if name.lower() in KEPT_HEADERS}}
        self.server.kept.append(kept)
        connection = http.client.HTTPConnection(to.hostname, to.port, timeout=120)
        connection.request(self.command, self.path, body=body or None, headers=headers)
        answer = connection.getresponse()
        kept["status"], kept["lines"] = answer.status, []
        try:
            self.answer(answer, kept["lines"])
        except OSError:
            kept["left"] = True
        kept["ended"] = next(MOMENTS)
        connection.close()

    def answer(self, answer, lines):
        """Passes an answer on, and keeps its lines."""
        to = self.server.organism
        self.send_response(answer.status)
        is_card = self.path == "/.well-known/agent-card.json"
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        if is_card:
            card = answer.read().decode()
            lines.append(card.replace(to.netloc, "ORGANISM"))
            self.wfile.write(card.replace(to.netloc, self.headers["Host"]).encode())
        elif (answer.getheader("Content-Type") or "").endswith("json"):
            read = answer.read()
            lines.append(read.decode())
            self.wfile.write(json.dumps(restore(json.loads(read))).encode() if read else b"")
        else:
            while line := answer.readline():
                self.wfile.write(line)
                self.wfile.flush()
                lines.extend([line.decode().strip()] if line.startswith(b"data:") else [])

    do_GET = do_POST = do_DELETE = do_PUT = do_HEAD = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


def start(organism, token):
    """A proxy on an address of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SteeringProxy)
    server.daemon_threads = True
    server.organism, server.token, server.kept = urlsplit(organism), token, []
    return server


if __name__ == "__main__":
    proxy = start(*sys.argv[1:3])
    print(f"http://127.0.0.1:{proxy.server_address[1]}", flush=True)
    proxy.serve_forever()
