"""An MCP server that wants a login: the protocol's Python library asks the authorization server about each token. The first
argument is the port of that server. It prints its port, and what it was asked with, as `sent TOKEN`."""
import json
import os
import socket
import sys
import threading
import urllib.parse
import urllib.request

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

issuer = f"http://127.0.0.1:{sys.argv[1]}"
listening = socket.create_server(("127.0.0.1", 0))
here = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        print(f"sent {token}", flush=True)
        asked = urllib.parse.urlencode({"token": token, "client_id": "guard", "client_secret": "guards"}).encode()
        with urllib.request.urlopen(f"{issuer}/token/introspection", asked, timeout=30) as answer:
            found = json.load(answer)
        if not found.get("active"):
            return None
        return AccessToken(token=token, client_id=found["client_id"], scopes=found.get("scope", "").split(),
                           expires_at=found.get("exp"), resource=found.get("aud"))


server = MCPServer("tickets", token_verifier=Verifier(), auth=AuthSettings(
    issuer_url=issuer, resource_server_url=here, required_scopes=["tickets:read"], validate_token_resource=True))


@server.tool()
def echo(message: str) -> str:
    """Says it again."""
    return message


print(listening.getsockname()[1], flush=True)
# It ends with the pipe of the test.
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listening])
