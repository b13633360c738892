"""The operations of the HTTP door, as methods of the clients.

Written by `make_client.py` from `schemas/openapi.json`: do not edit, write it again.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import Literal

    from . import bodies

# No methods: sendMessage: `ask`, `send` and `wait` send messages; sendFile: `ask` and `send` send the files
# of their payloads; followLog: `events` follows the log; decide: `approve`, `reject`, `amend` and `choose`
# decide, with the hash that was read; mcp: it is for hosts of models, which speak the Model Context Protocol;
# sessionCode: it is for signing in to the console in a browser.


class Operations:
    """One method for each operation."""

    def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None, *, is_bytes: bool = False) -> Any:
        raise NotImplementedError

    def status(self) -> bodies.Status:
        """The running organism."""
        return cast("bodies.Status", self._call("GET", "/v1/status", {}))

    def workers(self) -> bodies.Workers:
        """Workers over NATS."""
        return cast("bodies.Workers", self._call("GET", "/v1/workers", {}))

    def followers(self) -> bodies.Followers:
        """The followers of the log, and how they fare."""
        return cast("bodies.Followers", self._call("GET", "/v1/followers", {}))

    def approvals(self, *, at: int | None = None) -> bodies.Approvals:
        """What waits for a person."""
        return cast("bodies.Approvals", self._call("GET", "/v1/approvals", {"at": at}))

    def decisions(self, *, since: str | None = None, until: str | None = None, before: str | None = None,
            limit: int | None = None, at: int | None = None) -> bodies.Decisions:
        """What persons decided, and what ran after it."""
        return cast("bodies.Decisions", self._call("GET", "/v1/decisions", {"since": since, "until": until,
                "before": before, "limit": limit, "at": at}))

    def pause_everything(self, *, note: str | None = None) -> bodies.PauseChanged:
        """Pause everything."""
        return cast("bodies.PauseChanged", self._call("POST", "/v1/pause", {"note": note}))

    def pause_thread(self, thread: str, *, note: str | None = None) -> bodies.PauseChanged:
        """Pause a thread and everything below it."""
        return cast("bodies.PauseChanged", self._call("POST", f"/v1/threads/{_place(thread)}/pause", {"note": note}))

    def preview_retry(self, thread: str) -> bodies.RetryShown:
        """What a retry of a failed thread would do."""
        return cast("bodies.RetryShown", self._call("GET", f"/v1/threads/{_place(thread)}/retry", {}))

    def retry_thread(self, thread: str, body: bodies.AnewValues | None = None, *, note: str | None = None,
            seen: str | None = None, effects: bool | None = None, anew: Literal['show',
            'send'] | None = None) -> bodies.ThreadRetried | bodies.Receipt | bodies.AnewShown:
        """Let a failed thread go on in its place, or send its request anew."""
        return cast("bodies.ThreadRetried | bodies.Receipt | bodies.AnewShown", self._call("POST",
                f"/v1/threads/{_place(thread)}/retry", {"note": note, "seen": seen, "effects": effects,
                "anew": anew}, body))

    def retry_threads(self, body: bodies.RetryOrder) -> bodies.RetriesGiven:
        """Let all failed threads go on that a filter fits."""
        return cast("bodies.RetriesGiven", self._call("POST", "/v1/retry", {}, body))

    def resume_everything(self, *, note: str | None = None) -> bodies.PauseChanged:
        """Resume everything."""
        return cast("bodies.PauseChanged", self._call("POST", "/v1/resume", {"note": note}))

    def resume_thread(self, thread: str, *, note: str | None = None) -> bodies.PauseChanged:
        """Resume a thread and everything below it."""
        return cast("bodies.PauseChanged", self._call("POST", f"/v1/threads/{_place(thread)}/resume", {"note": note}))

    def cancel_thread(self, thread: str, *, call: int | None = None) -> bodies.Cancelled:
        """End a thread and everything below it, or one of its top calls."""
        return cast("bodies.Cancelled", self._call("POST", f"/v1/threads/{_place(thread)}/cancel", {"call": call}))

    def end_thread(self, thread: str) -> bodies.Ended:
        """End a root at rest."""
        return cast("bodies.Ended", self._call("POST", f"/v1/threads/{_place(thread)}/end", {}))

    def show_beginning(self) -> bodies.RunBeginning:
        """How the organism began, and how the reload went that it began with."""
        return cast("bodies.RunBeginning", self._call("GET", "/v1/reload", {}))

    def reload(self, *, file: str | None = None, back: bool | None = None, drain: str | None = None,
            approved: str | None = None, show: bool | None = None) -> bodies.ReloadPreview:
        """Let the organism go on with another configuration, or show what that would change."""
        return cast("bodies.ReloadPreview", self._call("POST", "/v1/reload", {"file": file, "back": back,
                "drain": drain, "approved": approved, "show": show}))

    def pause_schedule(self, schedule: str) -> bodies.ScheduleChanged:
        """Fire no tick of a schedule until it is resumed."""
        return cast("bodies.ScheduleChanged", self._call("POST", f"/v1/schedules/{_place(schedule)}/pause", {}))

    def resume_schedule(self, schedule: str) -> bodies.ScheduleChanged:
        """Let a paused schedule go on."""
        return cast("bodies.ScheduleChanged", self._call("POST", f"/v1/schedules/{_place(schedule)}/resume", {}))

    def fire_schedule(self, schedule: str) -> bodies.ScheduleChanged:
        """Send what a schedule sends now."""
        return cast("bodies.ScheduleChanged", self._call("POST", f"/v1/schedules/{_place(schedule)}/fire", {}))

    def cancel_waiting(self, listener: str) -> bodies.WaitingCancelled:
        """End the calls that wait for a listener."""
        return cast("bodies.WaitingCancelled", self._call("POST", f"/v1/listeners/{_place(listener)}/cancel", {}))

    def threads(self, *, limit: int | None = None, after: str | None = None, children: bool | None = None,
            state: Literal['paused', 'working', 'waiting', 'cancelled', 'failed', 'answered', 'resting',
            'ended'] | None = None, failed: bool | None = None, since: str | None = None, until: str | None = None,
            listener: str | None = None, client: str | None = None, name: str | None = None, code: str | None = None,
            q: str | None = None, sort: Literal['opened', 'since', 'duration', 'cost'] | None = None,
            at: int | None = None) -> bodies.Threads:
        """The newest threads."""
        return cast("bodies.Threads", self._call("GET", "/v1/threads", {"limit": limit, "after": after,
                "children": children, "state": state, "failed": failed, "since": since, "until": until,
                "listener": listener, "client": client, "name": name, "code": code, "q": q, "sort": sort,
                "at": at}))

    def thread(self, thread: str, *, at: int | None = None) -> bodies.Thread:
        """A thread and what it waits for."""
        return cast("bodies.Thread", self._call("GET", f"/v1/threads/{_place(thread)}", {"at": at}))

    def records(self, thread: str, *, from_: int | None = None, limit: int | None = None,
            at: int | None = None) -> bodies.RecordPage:
        """The records of a thread."""
        return cast("bodies.RecordPage", self._call("GET", f"/v1/threads/{_place(thread)}/records", {"from": from_,
                "limit": limit, "at": at}))

    def record(self, thread: str, seq: str, *, at: int | None = None) -> bodies.Record:
        """One record."""
        return cast("bodies.Record", self._call("GET", f"/v1/threads/{_place(thread)}/records/{_place(seq)}",
                {"at": at}))

    def record_bytes(self, thread: str, seq: str, *, at: int | None = None) -> bytes:
        """The payload of one record, byte for byte."""
        return cast("bytes", self._call("GET", f"/v1/threads/{_place(thread)}/records/{_place(seq)}/bytes",
                {"at": at}, is_bytes=True))

    def tree(self, thread: str, *, at: int | None = None) -> bodies.Tree:
        """A thread as a tree of calls."""
        return cast("bodies.Tree", self._call("GET", f"/v1/threads/{_place(thread)}/tree", {"at": at}))

    def thread_why(self, thread: str, *, at: int | None = None) -> bodies.ThreadWhy:
        """What a thread waits for."""
        return cast("bodies.ThreadWhy", self._call("GET", f"/v1/threads/{_place(thread)}/why", {"at": at}))

    def todo(self, thread: str, *, seq: int | None = None, at: int | None = None) -> bodies.Todo:
        """The todo lists of a thread."""
        return cast("bodies.Todo", self._call("GET", f"/v1/threads/{_place(thread)}/todo", {"seq": seq, "at": at}))

    def context(self, thread: str, *, seq: int | None = None, at: int | None = None) -> bodies.Context:
        """The prompt of a call to a model."""
        return cast("bodies.Context", self._call("GET", f"/v1/threads/{_place(thread)}/context", {"seq": seq,
                "at": at}))

    def thread_cost(self, thread: str, *, at: int | None = None) -> bodies.ThreadCost:
        """The model requests of a thread."""
        return cast("bodies.ThreadCost", self._call("GET", f"/v1/threads/{_place(thread)}/cost", {"at": at}))

    def trail(self, thread: str, *, seq: int | None = None, at: int | None = None) -> bodies.Trail:
        """The causes of a record."""
        return cast("bodies.Trail", self._call("GET", f"/v1/threads/{_place(thread)}/trail", {"seq": seq, "at": at}))

    def why(self, *, at: int | None = None) -> bodies.Waits:
        """Everything that waits."""
        return cast("bodies.Waits", self._call("GET", "/v1/why", {"at": at}))

    def cost(self, *, since: str | None = None, until: str | None = None, agent: str | None = None,
            model: str | None = None, client: str | None = None, by: Literal['agent', 'model', 'client',
            'day'] | None = None, at: int | None = None) -> bodies.Cost:
        """The model requests of a period."""
        return cast("bodies.Cost", self._call("GET", "/v1/cost", {"since": since, "until": until, "agent": agent,
                "model": model, "client": client, "by": by, "at": at}))

    def schedules(self, *, schedule: str | None = None, at: int | None = None) -> bodies.Schedules:
        """What is sent at which times."""
        return cast("bodies.Schedules", self._call("GET", "/v1/schedules", {"schedule": schedule, "at": at}))

    def slow(self, *, by: Literal['listener', 'model'] | None = None, since: str | None = None,
            until: str | None = None, listener: str | None = None, model: str | None = None,
            at: int | None = None) -> bodies.Slow:
        """What took long, by listener or model."""
        return cast("bodies.Slow", self._call("GET", "/v1/slow", {"by": by, "since": since, "until": until,
                "listener": listener, "model": model, "at": at}))

    def find(self, *, q: str | None = None, element: str | None = None, from_: str | None = None,
            to: str | None = None, code: str | None = None, kind: str | None = None, client: str | None = None,
            person: str | None = None, since: str | None = None, until: str | None = None, thread: str | None = None,
            before: int | None = None, limit: int | None = None, at: int | None = None) -> bodies.Hits:
        """Messages by words and fields."""
        return cast("bodies.Hits", self._call("GET", "/v1/find", {"q": q, "element": element, "from": from_,
                "to": to, "code": code, "kind": kind, "client": client, "person": person, "since": since,
                "until": until, "thread": thread, "before": before, "limit": limit, "at": at}))

    def configurations(self, *, at: int | None = None) -> bodies.Configurations:
        """Every configuration that was used."""
        return cast("bodies.Configurations", self._call("GET", "/v1/configurations", {"at": at}))

    def configuration(self, hash: str, *, at: int | None = None) -> bodies.Configuration:
        """One configuration."""
        return cast("bodies.Configuration", self._call("GET", f"/v1/configurations/{_place(hash)}", {"at": at}))

    def document(self, hash: str, *, at: int | None = None) -> bytes:
        """A stored document, byte for byte."""
        return cast("bytes", self._call("GET", f"/v1/documents/{_place(hash)}", {"at": at}, is_bytes=True))

    def graph(self, *, at: int | None = None) -> bodies.Graph:
        """Who may address whom."""
        return cast("bodies.Graph", self._call("GET", "/v1/graph", {"at": at}))

    def log_opening(self, *, at: int | None = None) -> bodies.LogOpening:
        """The last position, and the states of the threads that are at work."""
        return cast("bodies.LogOpening", self._call("GET", "/v1/log", {"at": at}))

    def log_threads(self, *, like: str | None = None, limit: int | None = None,
            at: int | None = None) -> bodies.ThreadIds:
        """Ids of threads, newest first, or those that begin with a text."""
        return cast("bodies.ThreadIds", self._call("GET", "/v1/log/threads", {"like": like, "limit": limit,
                "at": at}))

    def log_records(self, *, thread: str | None = None, from_: int | None = None, after: int | None = None,
            limit: int | None = None, at: int | None = None) -> bodies.StoredRecords:
        """Records with everything that their hashes cover."""
        return cast("bodies.StoredRecords", self._call("GET", "/v1/log/records", {"thread": thread, "from": from_,
                "after": after, "limit": limit, "at": at}))

    def description(self) -> dict[str, Any]:
        """This description."""
        return cast("dict[str, Any]", self._call("GET", "/v1/openapi.json", {}))


class AsyncOperations:
    """The same, to be awaited."""

    async def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None, *, is_bytes: bool = False) -> Any:
        raise NotImplementedError

    async def status(self) -> bodies.Status:
        """The running organism."""
        return cast("bodies.Status", await self._call("GET", "/v1/status", {}))

    async def workers(self) -> bodies.Workers:
        """Workers over NATS."""
        return cast("bodies.Workers", await self._call("GET", "/v1/workers", {}))

    async def followers(self) -> bodies.Followers:
        """The followers of the log, and how they fare."""
        return cast("bodies.Followers", await self._call("GET", "/v1/followers", {}))

    async def approvals(self, *, at: int | None = None) -> bodies.Approvals:
        """What waits for a person."""
        return cast("bodies.Approvals", await self._call("GET", "/v1/approvals", {"at": at}))

    async def decisions(self, *, since: str | None = None, until: str | None = None, before: str | None = None,
            limit: int | None = None, at: int | None = None) -> bodies.Decisions:
        """What persons decided, and what ran after it."""
        return cast("bodies.Decisions", await self._call("GET", "/v1/decisions", {"since": since, "until": until,
                "before": before, "limit": limit, "at": at}))

    async def pause_everything(self, *, note: str | None = None) -> bodies.PauseChanged:
        """Pause everything."""
        return cast("bodies.PauseChanged", await self._call("POST", "/v1/pause", {"note": note}))

    async def pause_thread(self, thread: str, *, note: str | None = None) -> bodies.PauseChanged:
        """Pause a thread and everything below it."""
        return cast("bodies.PauseChanged", await self._call("POST", f"/v1/threads/{_place(thread)}/pause",
                {"note": note}))

    async def preview_retry(self, thread: str) -> bodies.RetryShown:
        """What a retry of a failed thread would do."""
        return cast("bodies.RetryShown", await self._call("GET", f"/v1/threads/{_place(thread)}/retry", {}))

    async def retry_thread(self, thread: str, body: bodies.AnewValues | None = None, *, note: str | None = None,
            seen: str | None = None, effects: bool | None = None, anew: Literal['show',
            'send'] | None = None) -> bodies.ThreadRetried | bodies.Receipt | bodies.AnewShown:
        """Let a failed thread go on in its place, or send its request anew."""
        return cast("bodies.ThreadRetried | bodies.Receipt | bodies.AnewShown", await self._call("POST",
                f"/v1/threads/{_place(thread)}/retry", {"note": note, "seen": seen, "effects": effects,
                "anew": anew}, body))

    async def retry_threads(self, body: bodies.RetryOrder) -> bodies.RetriesGiven:
        """Let all failed threads go on that a filter fits."""
        return cast("bodies.RetriesGiven", await self._call("POST", "/v1/retry", {}, body))

    async def resume_everything(self, *, note: str | None = None) -> bodies.PauseChanged:
        """Resume everything."""
        return cast("bodies.PauseChanged", await self._call("POST", "/v1/resume", {"note": note}))

    async def resume_thread(self, thread: str, *, note: str | None = None) -> bodies.PauseChanged:
        """Resume a thread and everything below it."""
        return cast("bodies.PauseChanged", await self._call("POST", f"/v1/threads/{_place(thread)}/resume",
                {"note": note}))

    async def cancel_thread(self, thread: str, *, call: int | None = None) -> bodies.Cancelled:
        """End a thread and everything below it, or one of its top calls."""
        return cast("bodies.Cancelled", await self._call("POST", f"/v1/threads/{_place(thread)}/cancel",
                {"call": call}))

    async def end_thread(self, thread: str) -> bodies.Ended:
        """End a root at rest."""
        return cast("bodies.Ended", await self._call("POST", f"/v1/threads/{_place(thread)}/end", {}))

    async def show_beginning(self) -> bodies.RunBeginning:
        """How the organism began, and how the reload went that it began with."""
        return cast("bodies.RunBeginning", await self._call("GET", "/v1/reload", {}))

    async def reload(self, *, file: str | None = None, back: bool | None = None, drain: str | None = None,
            approved: str | None = None, show: bool | None = None) -> bodies.ReloadPreview:
        """Let the organism go on with another configuration, or show what that would change."""
        return cast("bodies.ReloadPreview", await self._call("POST", "/v1/reload", {"file": file, "back": back,
                "drain": drain, "approved": approved, "show": show}))

    async def pause_schedule(self, schedule: str) -> bodies.ScheduleChanged:
        """Fire no tick of a schedule until it is resumed."""
        return cast("bodies.ScheduleChanged", await self._call("POST", f"/v1/schedules/{_place(schedule)}/pause", {}))

    async def resume_schedule(self, schedule: str) -> bodies.ScheduleChanged:
        """Let a paused schedule go on."""
        return cast("bodies.ScheduleChanged", await self._call("POST", f"/v1/schedules/{_place(schedule)}/resume",
                {}))

    async def fire_schedule(self, schedule: str) -> bodies.ScheduleChanged:
        """Send what a schedule sends now."""
        return cast("bodies.ScheduleChanged", await self._call("POST", f"/v1/schedules/{_place(schedule)}/fire", {}))

    async def cancel_waiting(self, listener: str) -> bodies.WaitingCancelled:
        """End the calls that wait for a listener."""
        return cast("bodies.WaitingCancelled", await self._call("POST", f"/v1/listeners/{_place(listener)}/cancel",
                {}))

    async def threads(self, *, limit: int | None = None, after: str | None = None, children: bool | None = None,
            state: Literal['paused', 'working', 'waiting', 'cancelled', 'failed', 'answered', 'resting',
            'ended'] | None = None, failed: bool | None = None, since: str | None = None, until: str | None = None,
            listener: str | None = None, client: str | None = None, name: str | None = None, code: str | None = None,
            q: str | None = None, sort: Literal['opened', 'since', 'duration', 'cost'] | None = None,
            at: int | None = None) -> bodies.Threads:
        """The newest threads."""
        return cast("bodies.Threads", await self._call("GET", "/v1/threads", {"limit": limit, "after": after,
                "children": children, "state": state, "failed": failed, "since": since, "until": until,
                "listener": listener, "client": client, "name": name, "code": code, "q": q, "sort": sort,
                "at": at}))

    async def thread(self, thread: str, *, at: int | None = None) -> bodies.Thread:
        """A thread and what it waits for."""
        return cast("bodies.Thread", await self._call("GET", f"/v1/threads/{_place(thread)}", {"at": at}))

    async def records(self, thread: str, *, from_: int | None = None, limit: int | None = None,
            at: int | None = None) -> bodies.RecordPage:
        """The records of a thread."""
        return cast("bodies.RecordPage", await self._call("GET", f"/v1/threads/{_place(thread)}/records",
                {"from": from_, "limit": limit, "at": at}))

    async def record(self, thread: str, seq: str, *, at: int | None = None) -> bodies.Record:
        """One record."""
        return cast("bodies.Record", await self._call("GET", f"/v1/threads/{_place(thread)}/records/{_place(seq)}",
                {"at": at}))

    async def record_bytes(self, thread: str, seq: str, *, at: int | None = None) -> bytes:
        """The payload of one record, byte for byte."""
        return cast("bytes", await self._call("GET", f"/v1/threads/{_place(thread)}/records/{_place(seq)}/bytes",
                {"at": at}, is_bytes=True))

    async def tree(self, thread: str, *, at: int | None = None) -> bodies.Tree:
        """A thread as a tree of calls."""
        return cast("bodies.Tree", await self._call("GET", f"/v1/threads/{_place(thread)}/tree", {"at": at}))

    async def thread_why(self, thread: str, *, at: int | None = None) -> bodies.ThreadWhy:
        """What a thread waits for."""
        return cast("bodies.ThreadWhy", await self._call("GET", f"/v1/threads/{_place(thread)}/why", {"at": at}))

    async def todo(self, thread: str, *, seq: int | None = None, at: int | None = None) -> bodies.Todo:
        """The todo lists of a thread."""
        return cast("bodies.Todo", await self._call("GET", f"/v1/threads/{_place(thread)}/todo", {"seq": seq,
                "at": at}))

    async def context(self, thread: str, *, seq: int | None = None, at: int | None = None) -> bodies.Context:
        """The prompt of a call to a model."""
        return cast("bodies.Context", await self._call("GET", f"/v1/threads/{_place(thread)}/context", {"seq": seq,
                "at": at}))

    async def thread_cost(self, thread: str, *, at: int | None = None) -> bodies.ThreadCost:
        """The model requests of a thread."""
        return cast("bodies.ThreadCost", await self._call("GET", f"/v1/threads/{_place(thread)}/cost", {"at": at}))

    async def trail(self, thread: str, *, seq: int | None = None, at: int | None = None) -> bodies.Trail:
        """The causes of a record."""
        return cast("bodies.Trail", await self._call("GET", f"/v1/threads/{_place(thread)}/trail", {"seq": seq,
                "at": at}))

    async def why(self, *, at: int | None = None) -> bodies.Waits:
        """Everything that waits."""
        return cast("bodies.Waits", await self._call("GET", "/v1/why", {"at": at}))

    async def cost(self, *, since: str | None = None, until: str | None = None, agent: str | None = None,
            model: str | None = None, client: str | None = None, by: Literal['agent', 'model', 'client',
            'day'] | None = None, at: int | None = None) -> bodies.Cost:
        """The model requests of a period."""
        return cast("bodies.Cost", await self._call("GET", "/v1/cost", {"since": since, "until": until,
                "agent": agent, "model": model, "client": client, "by": by, "at": at}))

    async def schedules(self, *, schedule: str | None = None, at: int | None = None) -> bodies.Schedules:
        """What is sent at which times."""
        return cast("bodies.Schedules", await self._call("GET", "/v1/schedules", {"schedule": schedule, "at": at}))

    async def slow(self, *, by: Literal['listener', 'model'] | None = None, since: str | None = None,
            until: str | None = None, listener: str | None = None, model: str | None = None,
            at: int | None = None) -> bodies.Slow:
        """What took long, by listener or model."""
        return cast("bodies.Slow", await self._call("GET", "/v1/slow", {"by": by, "since": since, "until": until,
                "listener": listener, "model": model, "at": at}))

    async def find(self, *, q: str | None = None, element: str | None = None, from_: str | None = None,
            to: str | None = None, code: str | None = None, kind: str | None = None, client: str | None = None,
            person: str | None = None, since: str | None = None, until: str | None = None, thread: str | None = None,
            before: int | None = None, limit: int | None = None, at: int | None = None) -> bodies.Hits:
        """Messages by words and fields."""
        return cast("bodies.Hits", await self._call("GET", "/v1/find", {"q": q, "element": element, "from": from_,
                "to": to, "code": code, "kind": kind, "client": client, "person": person, "since": since,
                "until": until, "thread": thread, "before": before, "limit": limit, "at": at}))

    async def configurations(self, *, at: int | None = None) -> bodies.Configurations:
        """Every configuration that was used."""
        return cast("bodies.Configurations", await self._call("GET", "/v1/configurations", {"at": at}))

    async def configuration(self, hash: str, *, at: int | None = None) -> bodies.Configuration:
        """One configuration."""
        return cast("bodies.Configuration", await self._call("GET", f"/v1/configurations/{_place(hash)}", {"at": at}))

    async def document(self, hash: str, *, at: int | None = None) -> bytes:
        """A stored document, byte for byte."""
        return cast("bytes", await self._call("GET", f"/v1/documents/{_place(hash)}", {"at": at}, is_bytes=True))

    async def graph(self, *, at: int | None = None) -> bodies.Graph:
        """Who may address whom."""
        return cast("bodies.Graph", await self._call("GET", "/v1/graph", {"at": at}))

    async def log_opening(self, *, at: int | None = None) -> bodies.LogOpening:
        """The last position, and the states of the threads that are at work."""
        return cast("bodies.LogOpening", await self._call("GET", "/v1/log", {"at": at}))

    async def log_threads(self, *, like: str | None = None, limit: int | None = None,
            at: int | None = None) -> bodies.ThreadIds:
        """Ids of threads, newest first, or those that begin with a text."""
        return cast("bodies.ThreadIds", await self._call("GET", "/v1/log/threads", {"like": like, "limit": limit,
                "at": at}))

    async def log_records(self, *, thread: str | None = None, from_: int | None = None, after: int | None = None,
            limit: int | None = None, at: int | None = None) -> bodies.StoredRecords:
        """Records with everything that their hashes cover."""
        return cast("bodies.StoredRecords", await self._call("GET", "/v1/log/records", {"thread": thread,
                "from": from_, "after": after, "limit": limit, "at": at}))

    async def description(self) -> dict[str, Any]:
        """This description."""
        return cast("dict[str, Any]", await self._call("GET", "/v1/openapi.json", {}))


def _place(text: str) -> str:
    from urllib.parse import quote
    return quote(text, safe="")
