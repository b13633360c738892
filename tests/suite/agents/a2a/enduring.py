"""A client of A2A that follows its task until it is over, by the library of the protocol's authors: enduring.py URL TOKEN,
then lines of JSON on stdin. `say` sends a text under an `id`; each update is a line, and the last line has the answer as
the updates made it, and as it was read afterwards. `list` shows all tasks of the conversation."""

import asyncio
import json
import sys

import httpx
from a2a.client.errors import A2AClientError
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import A2AError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import ParseDict

URL, TOKEN = sys.argv[1:3]


def text_of(parts):
    return "".join(part.text for part in parts)


class Followed:
    """What the updates of one task have made."""

    def __init__(self):
        self.task, self.text, self.state = None, "", None

    def take(self, update):
        kind = update.WhichOneof("payload")
        if kind == "task":
            self.task, self.state = update.task.id, update.task.status.state
            self.text = "".join(text_of(one.parts) for one in update.task.artifacts)
        elif kind == "artifact_update":
            sent = update.artifact_update
            self.text = (self.text if sent.append else "") + text_of(sent.artifact.parts)
        elif kind == "status_update":
            self.state = update.status_update.status.state
        print(json.dumps({"event": kind}), flush=True)

    def is_over(self):
        return self.state in (a2a.TASK_STATE_COMPLETED, a2a.TASK_STATE_FAILED, a2a.TASK_STATE_CANCELED)


async def follow(client, message):
    """Sends the message until it is known, and follows its task until that is over."""
    followed = Followed()
    while not followed.is_over():
        try:
            if followed.task is None:
                updates = client.send_message_streaming(a2a.SendMessageRequest(message=message))
            else:
                updates = client.subscribe(a2a.SubscribeToTaskRequest(id=followed.task))
            async for update in updates:
                followed.take(update)
        except UnsupportedOperationError:
            # It was over when its updates were asked for.
            read = await read_task(client, followed.task)
            followed.take(a2a.StreamResponse(task=read))
        except (A2AError, A2AClientError, httpx.HTTPError, json.JSONDecodeError):
            await asyncio.sleep(0.05)
    return followed


async def endure(ask):
    """Asks until there is an answer."""
    while True:
        try:
            return await ask()
        except TaskNotFoundError:
            raise
        except (A2AError, A2AClientError, httpx.HTTPError, json.JSONDecodeError):
            await asyncio.sleep(0.05)


async def read_task(client, task):
    return await endure(lambda: client.get_task(a2a.GetTaskRequest(id=task)))


async def main():
    headers = {"Authorization": f"Bearer {TOKEN}", "A2A-Version": "1.0"}
    web = httpx.AsyncClient(headers=headers, timeout=120)
    # The card names an address that is gone after a restart: it is told where the organism is found.
    client = JsonRpcTransport(web, a2a.AgentCard(), f"{URL}/a2a")
    for line in iter(sys.stdin.readline, ""):
        wanted = json.loads(line)
        if wanted.get("list"):
            wanted = a2a.ListTasksRequest(context_id="storm", include_artifacts=True)
            found = await endure(lambda: client.list_tasks(wanted))
            tasks = [[text_of(t.history[0].parts), text_of(t.artifacts[0].parts)] for t in found.tasks]
            print(json.dumps({"tasks": tasks}), flush=True)
            continue
        part = {"text": wanted["say"]}
        said = {"messageId": wanted["id"], "contextId": "storm", "role": "ROLE_USER", "parts": [part]}
        followed = await follow(client, ParseDict(said, a2a.Message()))
        read = await read_task(client, followed.task)
        state = a2a.TaskState.Name(followed.state)
        read_text = "".join(text_of(one.parts) for one in read.artifacts)
        print(json.dumps({"state": state, "text": followed.text, "read": read_text}), flush=True)


asyncio.run(main())
