"""A host of models: the MCP client for Python, over stdio or HTTP. Prints what it sees as JSON."""
import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def transport(how):
    if how[0] == "stdio":
        return StdioServerParameters(command=how[1], args=how[2:])
    client = httpx2.AsyncClient(headers={"Authorization": "Bearer " + how[2]})
    return streamable_http_client(how[1], http_client=client)


async def main(mode, *how):
    heard = []

    async def progress(_progress, _total, message):
        heard.append(message)

    async with Client(transport(how), mode=mode) as client:
        tools = (await client.list_tools()).tools
        said = await client.call_tool("say", {"text": "a < b"})
        refused = await client.call_tool("say", {"txt": "a"})
        try:
            await client.call_tool("sey", {})
            error = None
        except Exception as raised:
            error = str(raised)
        # A call that waits delays no other.
        waiting = asyncio.create_task(client.call_tool("ask", {"text": "x"}, progress_callback=progress))
        for _ in range(1000):
            await client.call_tool("say", {"text": "meanwhile"})
            if heard:
                break
        waiting.cancel()
        print(json.dumps({
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools],
            "said": said.structured_content,
            "refused": refused.is_error and refused.content[0].text,
            "error": error,
            "heard": heard,
        }))


asyncio.run(main(*sys.argv[1:]))
