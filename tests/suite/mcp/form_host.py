"""A host whose person fills in forms: the MCP client for Python, over stdio or HTTP. Calls a tool, answers each form with
the next of the given answers, and prints what it saw as JSON."""
import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


def transport(how):
    if how[0] == "stdio":
        return StdioServerParameters(command=how[1], args=how[2:-1], env=json.loads(how[-1]))
    client = httpx2.AsyncClient(headers={"Authorization": "Bearer " + how[2]})
    return streamable_http_client(how[1], http_client=client)


async def main(mode, tool, arguments, answers, *how):
    shown, left = [], json.loads(answers)

    async def fill_in(_context, form):
        shown.append({"message": form.message, "schema": form.requested_schema})
        return ElicitResult(**left.pop(0))

    async with Client(transport(how), mode=mode, elicitation_callback=fill_in) as client:
        result = await client.call_tool(tool, json.loads(arguments))
        print(json.dumps({
            "version": client.protocol_version,
            "shown": shown,
            "error": result.is_error,
            "texts": [one.text for one in result.content],
        }))


asyncio.run(main(*sys.argv[1:]))
