"""Scripted ACP v1 editor on the stock Python SDK: drives an agent process through the steps of a
script and prints what came back as one JSON document. Usage: python editor.py SCRIPT COMMAND [ARG…]"""

import asyncio
import contextlib
import json
import os
import sys

from acp import PROTOCOL_VERSION, RequestError, schema, spawn_agent_process
from acp.connection import StreamDirection

CALLS = {  # step -> the connection's method; the request's model has the same name in CamelCase
    **{key: f"{key}_session" for key in ("new", "load", "resume", "close")},
    "list": "list_sessions",
}


def wire(model, **more):
    return model.model_dump(by_alias=True, exclude_none=True, mode="json") | more


def arguments(model, params):
    """The keyword arguments by which the SDK takes the wire's params; `_meta` goes in as extra ones."""
    request = model.model_validate(params)
    return {k: getattr(request, k) for k in model.model_fields if k != "field_meta"} | (request.field_meta or {})


def failure(error):
    if not isinstance(error, RequestError):
        return {"error": {"code": None, "message": str(error) or type(error).__name__}}
    data = {} if error.data is None else {"data": error.data}
    return {"error": {"code": error.code, "message": str(error), **data}}


class Editor:  # not a subclass of acp.Client: its stubs would answer null to what is not handled here
    def __init__(self, script):
        self.script = {"capabilities": {}, "steps": [], "permissions": [], "forms": [], "timeout": 60, **script}
        self.out = {"initialized": None, "steps": [], "updates": [], "permissions": [], "forms": [], "cancelled": []}
        self.session = None  # the current session's id
        self.step = -1  # index of the running step: -1 during initialize, len(steps) after the last
        self.turn = {}  # the running prompt: {"at": (event, session) to cancel at, "cancelled"}

    def on_connect(self, conn):
        self.conn = conn

    def observe(self, event):
        if event.direction is StreamDirection.INCOMING and event.message.get("method") == "$/cancel_request":
            self.out["cancelled"].append(event.message["params"]["requestId"])

    async def cancel_at(self, event, session_id):
        if self.turn.get("at") == (event, session_id) and not self.turn["cancelled"]:
            self.turn["cancelled"] = True
            await self.conn.cancel(session_id)

    async def session_update(self, session_id, update, **meta):
        params = schema.SessionNotification(session_id=session_id, update=update, field_meta=meta or None)
        self.out["updates"].append(wire(params, step=self.step))
        event = {"agent_message_chunk": "update", "tool_call": "tool"}.get(update.session_update)
        await self.cancel_at(event, session_id)

    async def request_permission(self, **params):
        fields = {key: params.pop(key) for key in ("session_id", "tool_call", "options")}
        self.out["permissions"].append(wire(schema.RequestPermissionRequest(**fields, field_meta=params or None)))
        await self.cancel_at("permission", fields["session_id"])
        return schema.RequestPermissionResponse(outcome=self.decide(fields["options"]))

    def decide(self, options):
        given = self.script["permissions"]
        answer = given.pop(0) if given and not self.turn.get("cancelled") else "cancelled"
        if answer == {"then": "exit"}:
            os._exit(9)
        if answer == "cancelled":
            return schema.DeniedOutcome(outcome="cancelled")
        for option in options:
            if option.kind == f"{answer}_once":
                return schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        raise ValueError(f"the agent offers no option for {json.dumps(answer)}")

    async def create_elicitation(self, message, mode, **meta):
        kind = "form" if hasattr(mode, "requested_schema") else "url"  # the SDK takes the tag off
        self.out["forms"].append(wire(mode, mode=kind, message=message, **({"_meta": meta} if meta else {})))
        return self.script["forms"].pop(0) if self.script["forms"] else {"action": "cancel"}

    async def run(self, spec):
        spec = json.loads(json.dumps(spec).replace('"$session"', json.dumps(self.session)))
        if raw := spec.get("raw"):
            if not raw["method"].startswith("_"):
                return {"skipped": True}  # the SDK sends only its own methods and _extensions
            return {"result": await self.conn.ext_method(raw["method"][1:], raw.get("params", {}))}
        if "prompt" in spec:
            text = spec["prompt"]
            blocks = [{"type": "text", "text": text}] if isinstance(text, str) else text
            call = arguments(schema.PromptRequest, {"sessionId": self.session, "prompt": blocks})
            self.turn = {"at": (spec.get("cancel_on", "never"), self.session), "cancelled": False}
            return {"result": wire(await self.conn.prompt(**call))}
        key = next(iter(spec))
        if key not in CALLS:
            raise ValueError(f"no such step: {key}")
        model = getattr(schema, CALLS[key].title().replace("_", "") + "Request")
        response = await getattr(self.conn, CALLS[key])(**arguments(model, spec[key]))
        if key in ("new", "load", "resume"):
            self.session = response.session_id if key == "new" else spec[key]["sessionId"]
        return {"result": wire(response)}

    async def attempt(self, awaitable):
        try:
            return await asyncio.wait_for(awaitable, self.script["timeout"])
        except asyncio.TimeoutError:
            return failure(TimeoutError(f"timed out after {self.script['timeout']} s"))
        except Exception as error:
            return failure(error)

    async def hello(self):
        capabilities = schema.ClientCapabilities.model_validate(self.script["capabilities"])
        return wire(await self.conn.initialize(PROTOCOL_VERSION, client_capabilities=capabilities))

    async def drive(self):
        self.out["initialized"] = await self.attempt(self.hello())
        if "error" not in self.out["initialized"]:
            for self.step, spec in enumerate(self.script["steps"]):
                self.out["steps"].append(await self.attempt(self.run(spec)))
                self.turn = {}
            self.step = len(self.script["steps"])


async def until(condition, seconds):
    for _ in range(int(seconds * 50)):
        if condition():
            break
        await asyncio.sleep(0.02)


async def main(script_path, command, *args):
    with open(script_path, encoding="utf-8") as file:
        editor = Editor(json.load(file))
    # By itself the SDK trims the environment, puts stderr into a pipe that nobody reads, and takes
    # elicitation/create (stable in the schema) only with its unstable flag.
    options = {"env": os.environ, "transport_kwargs": {"stderr": None}, "use_unstable_protocol": True}
    options["observers"] = [editor.observe]
    with contextlib.suppress(ConnectionError):  # closing raises it again when the agent was gone
        async with spawn_agent_process(editor, command, *args, **options) as (_, process):
            await editor.drive()
            process.stdin.close()
            await until(lambda: process.returncode is not None, editor.script["timeout"])
            editor.out["exit"] = process.returncode  # None: it has to be killed
            if process.returncode is None:
                process.kill()
            await until(process.stdout.at_eof, 2)  # the agent's last words
    print(json.dumps(editor.out), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python editor.py SCRIPT COMMAND [ARG…]")
    asyncio.run(main(*sys.argv[1:]))
