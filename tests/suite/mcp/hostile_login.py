"""An MCP server that wants a login, and its authorization server, which behave as the file in the first argument says. It
prints its port. Each request is noted in the file of the second argument: its path and its key."""
import itertools
import json
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOW, NOTES = sys.argv[1:3]
PAGES = {"file": "file:///etc/passwd", "clear": "http://a.example/authorize", "option": "--version",
         "script": "javascript:alert(1)"}


NUMBERS = itertools.count(1)
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "t", "version": "1"}},
    "tools/list": {"tools": [{"name": "echo", "description": "Says it again.",
                              "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}}}]},
    "tools/call": {"content": [{"type": "text", "text": "hi"}]},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        with open(HOW, encoding="utf-8") as file:
            how = file.read().strip()
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        path, _, query = self.path.partition("?")
        with open(NOTES, "a", encoding="utf-8") as file:
            form = dict(urllib.parse.parse_qsl(body.decode())) if path == "/token" else {}
            grant = form.get("grant_type", "")
            file.write(f"{path} {grant} {form.get('refresh_token', '')} {self.headers.get('Authorization', 'no key')}\n")
        here = f"http://127.0.0.1:{self.server.server_port}"
        if how == "lost":
            return self.answer(404, b"nothing here")
        if path == "/mcp":
            return self.answer_mcp(how, here, json.loads(body) if body else {})
        if how == "gone":
            return self.token() if path == "/token" else self.answer(404, {})
        if path.startswith("/.well-known/oauth-protected-resource"):
            other = "http://127.0.0.1:1" if how == "another" else here
            named = {"mixup": [f"{here}/x/.well-known/y"], "many": [f"{here}/{n}" for n in range(2000)]}
            scopes = ["read", "a\nerror: forged", "b c"] if how == "forged" else ["read"]
            return self.answer(200, {"resource": f"{other}/mcp", "authorization_servers": named.get(how, [here]),
                                     "scopes_supported": scopes})
        if how == "many":
            return self.answer(404, {})
        if path.startswith("/x/"):
            return self.describe("issuer", here)
        if path.startswith("/.well-known/"):
            return self.describe(how, here)
        if path == "/register":
            return self.answer(201, {"client_id": "c", "redirect_uris": []})
        if path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(query))
            back = urllib.parse.urlencode({"code": "the-c0de", "state": asked["state"]})
            return self.answer(302, b"", Location=f"{asked['redirect_uri']}?{back}")
        if path == "/token" and how == "token-500":
            return self.answer(500, b"<h1>oops</h1>\x1b[31m")
        if path == "/token" and how == "token-elsewhere":
            return self.answer(307, b"", Location="http://127.0.0.1:1/token")
        if path == "/token" and how == "token-page":
            return self.answer(200, b"<html>log in first</html>", Content_Type="text/html")
        if path == "/token" and how == "token-refused":
            return self.answer(400, {"error": "invalid_grant", "error_description": "the code has expired"})
        if path == "/token" and how == "forgotten" and grant == "refresh_token":
            return self.answer(401, {"error": "invalid_client"})
        if path == "/token":
            if how == "slow":
                time.sleep(3)
            return self.token(how == "short")
        return self.answer(404, {})

    def token(self, is_short=False):
        number = next(NUMBERS)
        token = {"access_token": f"token-{number}-" + "s3cret" * 40, "token_type": "Bearer", "expires_in": 20}
        self.answer(200, token if is_short else {**token, "expires_in": 0, "refresh_token": f"again-{number}-s3cret"})

    def answer_mcp(self, how, here, asked):
        key = self.headers.get("Authorization")
        if not key or how == "refuses":
            named = f'Bearer resource_metadata="{here}/.well-known/oauth-protected-resource/mcp"'
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("WWW-Authenticate", named)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if how == "echo":
            return self.answer(400, ("x" * 100 + key).encode())
        if how == "rights":
            wants = 'Bearer error="insufficient_scope", scope="write $(touch pwned)`id`"'
            return self.answer(403, {}, WWW_Authenticate=wants)
        if asked.get("method") in RESULTS:
            return self.answer(200, {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[asked["method"]]},
                               Content_Type="application/json")
        if "id" not in asked:
            return self.answer(202, b"")
        error = {"code": -32601, "message": "not here"}
        return self.answer(200, {"jsonrpc": "2.0", "id": asked["id"], "error": error}, Content_Type="application/json")

    def describe(self, how, here):
        if how == "elsewhere":
            return self.answer(302, b"", Location="http://127.0.0.1:1/metadata")
        if how == "large":
            return self.answer(200, {"issuer": here, "more": "x" * (2 << 20)})
        if how == "garbage":
            return self.answer(200, b"<html>hello</html>")
        methods = ["plain"] if how == "plain" else ["S256"]
        return self.answer(200, {
            "issuer": "http://127.0.0.1:1" if how == "issuer" else here,
            "authorization_endpoint": PAGES.get(how, f"{here}/authorize"), "token_endpoint": f"{here}/token",
            "registration_endpoint": f"{here}/register", "response_types_supported": ["code"],
            "code_challenge_methods_supported": methods})

    do_GET = do_POST = serve


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
# It ends with the pipe of the test.
sys.stdin.read()
