"""Scripted A2A 1.0 client on the stock Python SDK: drives a server through the steps of a script and
prints what the SDK read as one JSON document. Usage: python agent.py SCRIPT URL"""

import asyncio
import contextlib
import json
import os
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from google.protobuf.json_format import MessageToDict, ParseDict

CALLS = {  # step -> the client's method, its request, and the request's fields in ProtoJSON
    "extended": ("get_extended_agent_card", GetExtendedAgentCardRequest, lambda step: {}),
    "send": ("send_message", SendMessageRequest, lambda step: message_of(step, "send")),
    "stream": ("send_message", SendMessageRequest, lambda step: message_of(step, "stream")),
    "get": ("get_task", GetTaskRequest, lambda step: {"id": step["get"], **pick(step, "historyLength")}),
    "list": ("list_tasks", ListTasksRequest, lambda step: step["list"]),
    "cancel": ("cancel_task", CancelTaskRequest, lambda step: {"id": step["cancel"]}),
    "subscribe": ("subscribe", SubscribeToTaskRequest, lambda step: {"id": step["subscribe"]}),
}


def pick(step, key):
    return {key: step[key]} if key in step else {}


def message_of(step, key):
    return {"message": step[key], **pick(step, "configuration")}


class Agent:
    def __init__(self, script, url):
        self.script = {"binding": "JSONRPC", "steps": [], "timeout": 60, **script}
        self.url = url
        headers = {"Authorization": f"Bearer {script['token']}"} if "token" in script else {}
        # By itself httpx gives up after 5 s without a byte.
        self.http = httpx.AsyncClient(headers=headers, timeout=self.script["timeout"])
        self.clients = {}  # whether it streams -> client
        self.seen = {}  # what stands for $TASK, $CONTEXT and $REQUEST

    async def client(self, streams):
        if streams not in self.clients:
            bindings = [self.script["binding"]]
            config = ClientConfig(httpx_client=self.http, streaming=streams, supported_protocol_bindings=bindings)
            self.clients[streams] = await ClientFactory(config).create_from_url(self.url)
        return self.clients[streams]

    def fill(self, step):
        text = json.dumps(step)
        for name, value in self.seen.items():
            text = text.replace(name, json.dumps(value)[1:-1])
        return json.loads(text)

    def read(self, proto):
        """What the SDK read, as JSON. The tasks in it are noted: of a list the first, as the newest, last."""
        found = MessageToDict(proto)
        holders = found.get("tasks", [])[::-1] + [found, *found.values()]
        for task in (one for one in holders if isinstance(one, dict) and "contextId" in one):
            self.seen["$TASK"] = task.get("taskId") or task.get("id") or self.seen.get("$TASK", "$TASK")
            self.seen["$CONTEXT"] = task["contextId"]
            for part in task.get("status", {}).get("message", {}).get("parts", []):
                if isinstance(part.get("data"), dict) and "request" in part["data"]:
                    self.seen["$REQUEST"] = part["data"]["request"]
        return found

    async def run(self, step):
        key = next((key for key in step if key in CALLS or key == "card"), None)
        if key is None:
            raise ValueError(f"no such step: {json.dumps(step)}")
        if key == "card":
            return self.read(await A2ACardResolver(self.http, self.url).get_agent_card())
        method, request, fields = CALLS[key]
        client = await self.client(key != "send")
        answer = getattr(client, method)(ParseDict(fields(step), request()))
        if key not in ("send", "stream", "subscribe"):
            return self.read(await answer)
        events = []
        async with contextlib.aclosing(answer):
            async for event in answer:
                events.append(self.read(event))
                if len(events) == step.get("leave"):
                    break
        await asyncio.sleep(0.05)  # the generators inside the SDK end, and with them the connection
        return events[0] if key == "send" else events

    async def drive(self):
        out = []
        for step in self.script["steps"]:
            try:
                out.append(await asyncio.wait_for(self.run(self.fill(step)), self.script["timeout"]))
            except Exception as error:
                out.append({"error": {"kind": type(error).__name__, "message": str(error) or repr(error)}})
            if step.get("then") == "exit":
                os._exit(9)
        for client in self.clients.values():
            await client.close()
        await self.http.aclose()
        return out


async def main(script_path, url):
    with open(script_path, encoding="utf-8") as file:
        agent = Agent(json.load(file), url)
    print(json.dumps({"steps": await agent.drive()}), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python agent.py SCRIPT URL")
    asyncio.run(main(*sys.argv[1:]))
