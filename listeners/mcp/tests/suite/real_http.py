"""An MCP server of the protocol's Python library, over HTTP in both revisions. It prints its port."""
import asyncio
import os
import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("tickets")


@server.tool()
def echo(message: str) -> str:
    """Says it again."""
    return message


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Counts."""
    for at in range(to):
        await ctx.report_progress(at + 1, to)
        await asyncio.sleep(0.3)
    return "counted"


class Guarded:
    """Refuses requests without the key."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        wanted = os.environ.get("WANTED_KEY")
        given = dict(scope.get("headers", [])).get(b"authorization", b"").decode()
        if scope["type"] == "http" and wanted and given != f"Bearer {wanted}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await self.app(scope, receive, send)


listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
# It ends with the pipe of the test.
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
app = Guarded(server.streamable_http_app())
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
