# Written by `systole sdk python`: do not edit, write it again.
"""Payloads of https://xml-pipeline.org/ns/core/v1."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .payload import DateTime, Element, Part, Payload, bind


@dataclass(frozen=True, kw_only=True)
class SpawnThread(Payload):
    """Opens a child thread; its first message is the payload inside."""
    initial_payload: SpawnThreadInitialPayload
    suggested_sub_id: str | None = None
    messages: int | None = None
    tokens: int | None = None
    money: str | None = None


@dataclass(frozen=True, kw_only=True)
class SpawnThreadInitialPayload(Part):
    to: str | None = None
    any: Element


@dataclass(frozen=True, kw_only=True)
class AwaitThreads(Payload):
    """Waits for children of the sender: those named, or all that are open. A timer, a steering
    message or a budget warning ends the wait as well.
    """
    thread: tuple[AwaitThreadsThread, ...] = ()
    mode: str


@dataclass(frozen=True, kw_only=True)
class AwaitThreadsThread(Part):
    id: str


@dataclass(frozen=True, kw_only=True)
class SetTimer(Payload):
    """Sets a timer that fires once, after a time, or again and again; the text comes back with
    each firing.
    """
    text: str
    id: str | None = None
    after: str | None = None
    every: str | None = None


@dataclass(frozen=True, kw_only=True)
class CancelTimer(Payload):
    """Cancels a timer of the sender."""
    id: str


@dataclass(frozen=True, kw_only=True)
class TodoUntil(Payload):
    """What is still to do until a condition holds. The newest list with the same condition
    replaces older ones.
    """
    step: tuple[TodoUntilStep, ...] = ()
    condition: str


@dataclass(frozen=True, kw_only=True)
class TodoUntilStep(Part):
    text: str
    done: Literal["true", "false"]


@dataclass(frozen=True, kw_only=True)
class CancelThread(Payload):
    """Cancels a child thread of the sender and everything below it."""
    id: str


@dataclass(frozen=True, kw_only=True)
class ClearContext(Payload):
    """Clears the sender's own view of its call but for its last messages, in whole turns, and its
    request.
    """
    keep: int


@dataclass(frozen=True, kw_only=True)
class Recall(Payload):
    """Reads messages of the sender's own view again, cleared or not, by their numbers."""
    from_seq: int
    to_seq: int
    offset: int | None = None
    length: int | None = None


@dataclass(frozen=True, kw_only=True)
class AskPerson(Payload):
    """Asks a person and waits for the answer: one of the choices, or, without choices, the
    person's own words.
    """
    question: str
    show: tuple[AskPersonShow, ...] = ()
    choice: tuple[str, ...] = ()
    expires: str | None = None


@dataclass(frozen=True, kw_only=True)
class AskPersonShow(Part):
    text: str
    seq: int


@dataclass(frozen=True, kw_only=True)
class Steer(Payload):
    """A word for work that goes on: one payload that its listener takes. The pump says from whom."""
    from_: str | None = None
    any: Element


@dataclass(frozen=True, kw_only=True)
class ThreadSpawned(Payload):
    """The child is open; it is recorded before the child's first delivery."""
    assigned_id: str
    parent_id: str
    head: str
    message: str | None = None
    messages: int | None = None
    tokens: int | None = None
    money: str | None = None


@dataclass(frozen=True, kw_only=True)
class ThreadFinished(Payload):
    """A child has ended; its result, if there is one, is inside."""
    id: str
    outcome: Literal["answered", "handled", "failed", "rejected", "expired", "cancelled", "budget"]
    head: str
    messages: int | None = None
    children: int | None = None
    tokens: int | None = None
    money: str | None = None
    requests: int | None = None
    any: Element | None = None


@dataclass(frozen=True, kw_only=True)
class AwaitOver(Payload):
    """A wait for children is over: why, how many of them have finished, and how many are open."""
    reason: Literal["done", "timer", "message", "budget"]
    finished: int
    open: int


@dataclass(frozen=True, kw_only=True)
class TimerSet(Payload):
    """The timer is set and fires then, not before."""
    id: str
    due: DateTime


@dataclass(frozen=True, kw_only=True)
class TimerFired(Payload):
    """A timer fired. Firings that were missed before this one are counted, not told one by one."""
    text: str
    id: str
    missed: int | None = None
    clock: Literal["set-back"] | None = None
    away: str | None = None


@dataclass(frozen=True, kw_only=True)
class TimerFinished(Payload):
    """A call that a timer opened is over: the timer with its note, how the call ended, and its
    result, if there is one, inside.
    """
    id: str
    outcome: Literal["answered", "handled", "failed", "rejected", "expired", "cancelled", "budget"]
    note: str
    thread: str
    call: str
    listener: str
    any: Element | None = None


@dataclass(frozen=True, kw_only=True)
class TimerCancelled(Payload):
    """The timer fires no more."""
    id: str


@dataclass(frozen=True, kw_only=True)
class ThreadCancelled(Payload):
    """The child and its descendants are cancelled."""
    id: str
    threads: int


@dataclass(frozen=True, kw_only=True)
class ContextCleared(Payload):
    """These messages of the view are shown no more; 0 to 0 is none. They can be recalled."""
    kept_messages: int
    from_seq: int
    to_seq: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class Recalled(Payload):
    """Messages of the view as they were said, from a character of their text on; where it is more
    than one answer holds, next says where it goes on.
    """
    message: tuple[RecalledMessage, ...]
    from_seq: int
    to_seq: int
    total: int
    offset: int
    next: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecalledMessage(Part):
    text: str
    seq: int
    from_: str


@dataclass(frozen=True, kw_only=True)
class ThreadEnded(Payload):
    """A thread at rest was ended by a person."""
    id: str


@dataclass(frozen=True, kw_only=True)
class SystemThreadError(Payload):
    """An item named a thread that it cannot be sent to; nothing was created."""
    unknown_id: str
    code: Literal["unknown_thread", "thread_ended"]
    message: str


@dataclass(frozen=True, kw_only=True)
class SystemError(Payload):
    """A refusal or a failure, worded so that the sender can fix the payload."""
    expected: str | None = None
    received: str | None = None
    schema: str | None = None
    try_: str | None = None
    code: str
    first_code: str | None = None
    retry_allowed: Literal["true", "false"]
    message: str
    element: str | None = None
    hash: str | None = None
    path: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, kw_only=True)
class Throttled(Payload):
    """So many refusals of one sender were counted and not recorded."""
    count: int
    first: DateTime
    last: DateTime


@dataclass(frozen=True, kw_only=True)
class Handled(Payload):
    """Taken, and there is nothing to say."""


@dataclass(frozen=True, kw_only=True)
class ChildrenOpen(Payload):
    """A final came while children run; the next final is taken."""
    count: int


@dataclass(frozen=True, kw_only=True)
class TodoOpen(Payload):
    """A final came while steps are open; the next final is taken."""
    open: int
    total: int


@dataclass(frozen=True, kw_only=True)
class BudgetWarning(Payload):
    """Most of a budget is used."""
    what: str
    used: str
    limit: str


@dataclass(frozen=True, kw_only=True)
class BudgetExceeded(Payload):
    """A budget is used up; what was said so far is kept."""
    what: str
    used: str
    limit: str


@dataclass(frozen=True, kw_only=True)
class BudgetTime(Payload):
    """How long a message from outside was worked on, and whether it is from here on: not while
    only persons and timers are waited for.
    """
    runs: bool
    used: str
    limit: str


@dataclass(frozen=True, kw_only=True)
class FinalReport(Payload):
    """How a call ended, in place of its answer; every caller accepts it."""
    text: str
    source: Literal["model", "forced", "synthetic"]
    outcome: Literal["success", "partial", "failure"]
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Attempt(Payload):
    """A turn is handed to its listener, often again; the text says why."""
    text: str
    number: int
    code: str | None = None
    with_pump: bool | None = None
    due: DateTime
    outage: str | None = None
    over: bool | None = None
    taken: DateTime | None = None


@dataclass(frozen=True, kw_only=True)
class DeadLetter(Payload):
    """A delivery that is not tried again."""
    delivery: str
    attempts: int


@dataclass(frozen=True, kw_only=True)
class ApprovalRequested(Payload):
    """A payload waits for a person, who may approve, reject or amend it; or one more attempt at it
    does.
    """
    id: str
    hash: str
    expires: DateTime
    thread: str
    call: str
    to: str
    element: str
    unknown: str | None = None


@dataclass(frozen=True, kw_only=True)
class ApprovalDecided(Payload):
    """A payload waits for a person no longer."""
    id: str
    outcome: Literal["approved", "amended", "rejected", "expired"]
    by: str
    hash: str | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class PersonAsked(Payload):
    """A question waits for a person."""
    question: str
    show: tuple[PersonAskedShow, ...] = ()
    choice: tuple[str, ...] = ()
    id: str
    expires: DateTime
    thread: str
    call: str
    from_: str


@dataclass(frozen=True, kw_only=True)
class PersonAskedShow(Part):
    text: str
    seq: int
    record: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class PersonSaid(Payload):
    """What a person answered, with a note; or that no person answered in time."""
    text: str
    outcome: Literal["chosen", "expired"]
    choice: str | None = None
    by: str | None = None
    clock: Literal["set-back"] | None = None


@dataclass(frozen=True, kw_only=True)
class Paused(Payload):
    """Nothing new of this thread goes out; in `sys`, of any thread."""
    by: str
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Resumed(Payload):
    """What was paused goes on."""
    by: str


@dataclass(frozen=True, kw_only=True)
class Reopened(Payload):
    """The last call of a root, which failed, is open again; `effects` says that effects outside
    may happen again.
    """
    by: str
    retry: int
    note: str | None = None
    effects: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Retried(Payload):
    """Tells a run of a workflow that it is tried again: what failed may be started once more."""
    by: str
    retry: int
    note: str | None = None
    effects: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Boot(Payload):
    """The organism starts."""
    organism: str
    config: str
    at: DateTime
    listeners: str
    version: str | None = None
    program: str | None = None


@dataclass(frozen=True, kw_only=True)
class LossAccepted(Payload):
    """The log goes on without these positions: they were acknowledged and are missing."""
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Erased(Payload):
    """Bytes were taken out of these records and documents for good. With forked, the ones before
    it name positions of the log that was forked. With complete, every document that was left
    without bytes is named.
    """
    record: tuple[ErasedRecord, ...] = ()
    document: tuple[ErasedDocument, ...] = ()
    by: str | None = None
    reason: str | None = None
    forked: bool | None = None
    complete: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ErasedRecord(Part):
    position: int
    parts: str


@dataclass(frozen=True, kw_only=True)
class ErasedDocument(Part):
    hash: str
    before: str | None = None


@dataclass(frozen=True, kw_only=True)
class ErasedBody(Payload):
    """Stands for a body that was erased whole."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Forked(Payload):
    """The thread goes on here in a log of its own, from the beginning of that turn."""
    call: str
    turn: int


@dataclass(frozen=True, kw_only=True)
class Subject(Payload):
    """What the thread is about, as the client says that sent the message before it."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Stuck(Payload):
    """Calls to a listener have waited for the same for too long: how many that no earlier record
    counts, and the one of them that waits longest.
    """
    listener: str
    cause: str
    calls: int
    thread: str
    call: str
    since: DateTime
    at: DateTime


@dataclass(frozen=True, kw_only=True)
class Shutdown(Payload):
    """The organism stops: for a reload, to go on at once with another configuration; for a
    command, because it ran for that command only. Workers on other machines may still have so
    many deliveries.
    """
    mode: str
    out: int | None = None
    for_: Literal["reload", "command"] | None = None


@dataclass(frozen=True, kw_only=True)
class ListenerJoined(Payload):
    """A listener is ready, or is again after a fall."""
    file: tuple[ListenerJoinedFile, ...] = ()
    """A file that the listener's program was started with. Without its hash it could not be read,
    or is too large.
    """
    name: str
    sandbox: Literal["full", "landlock"] | None = None


@dataclass(frozen=True, kw_only=True)
class ListenerJoinedFile(Part):
    """A file that the listener's program was started with. Without its hash it could not be read,
    or is too large.
    """
    path: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class ListenerLeft(Payload):
    """A listener is gone."""
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class FollowerBegan(Payload):
    """A follower begins after this position of the log."""
    name: str
    position: int


@dataclass(frozen=True, kw_only=True)
class FollowerCaughtUp(Payload):
    """A follower that was behind is at the end of the log again."""
    name: str
    position: int


@dataclass(frozen=True, kw_only=True)
class FollowSkipped(Payload):
    """The receiver of a follower refused the record at this position; why."""
    text: str
    name: str
    position: int


@dataclass(frozen=True, kw_only=True)
class FollowerBehind(Payload):
    """A follower has been behind the log for five minutes, at this position; why."""
    text: str
    name: str
    position: int


@dataclass(frozen=True, kw_only=True)
class FollowerStopped(Payload):
    """A follower sends nothing more until a person says where it goes on; why."""
    text: str
    name: str
    position: int


@dataclass(frozen=True, kw_only=True)
class Reloaded(Payload):
    """The organism goes on with another configuration, because this client ordered it; if back,
    then with one that ran before.
    """
    config: str
    before: str
    by: str
    back: Literal["true", "false"] | None = None


@dataclass(frozen=True, kw_only=True)
class ReloadFailed(Payload):
    """A configuration that this client ordered did not start; why. The organism goes on with the
    one before.
    """
    text: str
    config: str
    by: str


@dataclass(frozen=True, kw_only=True)
class ScheduleBegan(Payload):
    """The ticks of a schedule count from this moment on: it is new, ticks otherwise than before,
    or the clock was wrong.
    """
    name: str
    rule: str
    at: DateTime


@dataclass(frozen=True, kw_only=True)
class ScheduleEnded(Payload):
    """The organism's file no longer has a schedule."""
    name: str


@dataclass(frozen=True, kw_only=True)
class ScheduleFired(Payload):
    """A tick of a schedule opened this thread, or a person had it opened, at a moment that is no
    tick.
    """
    name: str
    tick: DateTime
    thread: str
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScheduleSkipped(Payload):
    """All ticks of a schedule from the first moment to the last opened no thread; why."""
    name: str
    reason: Literal["overlap", "missed", "paused", "fired"]
    from_: DateTime
    to: DateTime


@dataclass(frozen=True, kw_only=True)
class SchedulePaused(Payload):
    """A person paused a schedule."""
    name: str
    by: str


@dataclass(frozen=True, kw_only=True)
class ScheduleResumed(Payload):
    """A person had a paused schedule go on."""
    name: str
    by: str


TABLE: dict[str, object] = {
 "namespace": "https://xml-pipeline.org/ns/core/v1",
 "elements": {
  "spawn-thread": "SpawnThread",
  "await-threads": "AwaitThreads",
  "set-timer": "SetTimer",
  "cancel-timer": "CancelTimer",
  "todo-until": "TodoUntil",
  "cancel-thread": "CancelThread",
  "clear-context": "ClearContext",
  "recall": "Recall",
  "ask-person": "AskPerson",
  "steer": "Steer",
  "thread-spawned": "ThreadSpawned",
  "thread-finished": "ThreadFinished",
  "await-over": "AwaitOver",
  "timer-set": "TimerSet",
  "timer-fired": "TimerFired",
  "timer-finished": "TimerFinished",
  "timer-cancelled": "TimerCancelled",
  "thread-cancelled": "ThreadCancelled",
  "context-cleared": "ContextCleared",
  "recalled": "Recalled",
  "thread-ended": "ThreadEnded",
  "system-thread-error": "SystemThreadError",
  "system-error": "SystemError",
  "throttled": "Throttled",
  "handled": "Handled",
  "children-open": "ChildrenOpen",
  "todo-open": "TodoOpen",
  "budget-warning": "BudgetWarning",
  "budget-exceeded": "BudgetExceeded",
  "budget-time": "BudgetTime",
  "final-report": "FinalReport",
  "attempt": "Attempt",
  "dead-letter": "DeadLetter",
  "approval-requested": "ApprovalRequested",
  "approval-decided": "ApprovalDecided",
  "person-asked": "PersonAsked",
  "person-said": "PersonSaid",
  "paused": "Paused",
  "resumed": "Resumed",
  "reopened": "Reopened",
  "retried": "Retried",
  "boot": "Boot",
  "loss-accepted": "LossAccepted",
  "erased": "Erased",
  "erased-body": "ErasedBody",
  "forked": "Forked",
  "subject": "Subject",
  "stuck": "Stuck",
  "shutdown": "Shutdown",
  "listener-joined": "ListenerJoined",
  "listener-left": "ListenerLeft",
  "follower-began": "FollowerBegan",
  "follower-caught-up": "FollowerCaughtUp",
  "follow-skipped": "FollowSkipped",
  "follower-behind": "FollowerBehind",
  "follower-stopped": "FollowerStopped",
  "reloaded": "Reloaded",
  "reload-failed": "ReloadFailed",
  "schedule-began": "ScheduleBegan",
  "schedule-ended": "ScheduleEnded",
  "schedule-fired": "ScheduleFired",
  "schedule-skipped": "ScheduleSkipped",
  "schedule-paused": "SchedulePaused",
  "schedule-resumed": "ScheduleResumed",
 },
 "classes": {
  "SpawnThread": {
   "element": "spawn-thread",
   "attributes": [
    {"name": "suggested_sub_id", "field": "suggested_sub_id", "type": {"simple": 0}},
    {"name": "messages", "field": "messages", "type": {"simple": 1}},
    {"name": "tokens", "field": "tokens", "type": {"simple": 1}},
    {"name": "money", "field": "money", "type": {"simple": 2}},
   ],
   "children": [
    {
     "name": "initial-payload",
     "field": "initial_payload",
     "type": {"class": "SpawnThreadInitialPayload"},
    },
   ],
  },
  "SpawnThreadInitialPayload": {
   "attributes": [{"name": "to", "field": "to", "type": {"simple": 3}}],
   "any": {"field": "any", "at": 0, "min": 1},
  },
  "AwaitThreads": {
   "element": "await-threads",
   "attributes": [{"name": "mode", "field": "mode", "type": {"simple": 4}, "required": 1}],
   "children": [
    {
     "name": "thread",
     "field": "thread",
     "type": {"class": "AwaitThreadsThread"},
     "min": 0,
     "max": 0,
    },
   ],
  },
  "AwaitThreadsThread": {"attributes": [{"name": "id", "field": "id", "type": {"simple": 5}, "required": 1}]},
  "SetTimer": {
   "element": "set-timer",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 0}},
    {"name": "after", "field": "after", "type": {"simple": 6}},
    {"name": "every", "field": "every", "type": {"simple": 6}},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "CancelTimer": {
   "element": "cancel-timer",
   "attributes": [{"name": "id", "field": "id", "type": {"simple": 0}, "required": 1}],
  },
  "TodoUntil": {
   "element": "todo-until",
   "attributes": [{"name": "condition", "field": "condition", "type": {"simple": 5}, "required": 1}],
   "children": [
    {
     "name": "step",
     "field": "step",
     "type": {"class": "TodoUntilStep"},
     "min": 0,
     "max": 0,
    },
   ],
  },
  "TodoUntilStep": {
   "attributes": [{"name": "done", "field": "done", "type": {"simple": 7}, "required": 1}],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "CancelThread": {
   "element": "cancel-thread",
   "attributes": [{"name": "id", "field": "id", "type": {"simple": 5}, "required": 1}],
  },
  "ClearContext": {
   "element": "clear-context",
   "attributes": [{"name": "keep", "field": "keep", "type": {"simple": 1}, "required": 1}],
  },
  "Recall": {
   "element": "recall",
   "attributes": [
    {"name": "from_seq", "field": "from_seq", "type": {"simple": 1}, "required": 1},
    {"name": "to_seq", "field": "to_seq", "type": {"simple": 1}, "required": 1},
    {"name": "offset", "field": "offset", "type": {"simple": 1}},
    {"name": "length", "field": "length", "type": {"simple": 8}},
   ],
  },
  "AskPerson": {
   "element": "ask-person",
   "attributes": [{"name": "expires", "field": "expires", "type": {"simple": 6}}],
   "children": [
    {"name": "question", "field": "question", "type": {"simple": 5}},
    {
     "name": "show",
     "field": "show",
     "type": {"class": "AskPersonShow"},
     "min": 0,
     "max": 0,
    },
    {"name": "choice", "field": "choice", "type": {"simple": 5}, "min": 0, "max": 0},
   ],
  },
  "AskPersonShow": {
   "attributes": [{"name": "seq", "field": "seq", "type": {"simple": 8}, "required": 1}],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "Steer": {
   "element": "steer",
   "attributes": [{"name": "from", "field": "from_", "type": {"simple": 3}}],
   "any": {"field": "any", "at": 0, "min": 1},
  },
  "ThreadSpawned": {
   "element": "thread-spawned",
   "attributes": [
    {"name": "assigned_id", "field": "assigned_id", "type": {"simple": 9}, "required": 1},
    {"name": "parent_id", "field": "parent_id", "type": {"simple": 9}, "required": 1},
    {"name": "head", "field": "head", "type": {"simple": 10}, "required": 1},
    {"name": "message", "field": "message", "type": {"simple": 5}},
    {"name": "messages", "field": "messages", "type": {"simple": 1}},
    {"name": "tokens", "field": "tokens", "type": {"simple": 1}},
    {"name": "money", "field": "money", "type": {"simple": 5}},
   ],
  },
  "ThreadFinished": {
   "element": "thread-finished",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 9}, "required": 1},
    {"name": "outcome", "field": "outcome", "type": {"simple": 11}, "required": 1},
    {"name": "head", "field": "head", "type": {"simple": 10}, "required": 1},
    {"name": "messages", "field": "messages", "type": {"simple": 1}},
    {"name": "children", "field": "children", "type": {"simple": 1}},
    {"name": "tokens", "field": "tokens", "type": {"simple": 1}},
    {"name": "money", "field": "money", "type": {"simple": 5}},
    {"name": "requests", "field": "requests", "type": {"simple": 1}},
   ],
   "any": {"field": "any", "at": 0},
  },
  "AwaitOver": {
   "element": "await-over",
   "attributes": [
    {"name": "reason", "field": "reason", "type": {"simple": 12}, "required": 1},
    {"name": "finished", "field": "finished", "type": {"simple": 1}, "required": 1},
    {"name": "open", "field": "open", "type": {"simple": 1}, "required": 1},
   ],
  },
  "TimerSet": {
   "element": "timer-set",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 0}, "required": 1},
    {"name": "due", "field": "due", "type": {"simple": 13}, "required": 1},
   ],
  },
  "TimerFired": {
   "element": "timer-fired",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 0}, "required": 1},
    {"name": "missed", "field": "missed", "type": {"simple": 1}},
    {"name": "clock", "field": "clock", "type": {"simple": 14}},
    {"name": "away", "field": "away", "type": {"simple": 5}},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "TimerFinished": {
   "element": "timer-finished",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 0}, "required": 1},
    {"name": "outcome", "field": "outcome", "type": {"simple": 11}, "required": 1},
    {"name": "note", "field": "note", "type": {"simple": 5}, "required": 1},
    {"name": "thread", "field": "thread", "type": {"simple": 9}, "required": 1},
    {"name": "call", "field": "call", "type": {"simple": 5}, "required": 1},
    {"name": "listener", "field": "listener", "type": {"simple": 3}, "required": 1},
   ],
   "any": {"field": "any", "at": 0},
  },
  "TimerCancelled": {
   "element": "timer-cancelled",
   "attributes": [{"name": "id", "field": "id", "type": {"simple": 0}, "required": 1}],
  },
  "ThreadCancelled": {
   "element": "thread-cancelled",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 9}, "required": 1},
    {"name": "threads", "field": "threads", "type": {"simple": 1}, "required": 1},
   ],
  },
  "ContextCleared": {
   "element": "context-cleared",
   "attributes": [
    {
     "name": "kept_messages",
     "field": "kept_messages",
     "type": {"simple": 1},
     "required": 1,
    },
    {"name": "from_seq", "field": "from_seq", "type": {"simple": 1}, "required": 1},
    {"name": "to_seq", "field": "to_seq", "type": {"simple": 1}, "required": 1},
    {"name": "digest", "field": "digest", "type": {"simple": 10}, "required": 1},
   ],
  },
  "Recalled": {
   "element": "recalled",
   "attributes": [
    {"name": "from_seq", "field": "from_seq", "type": {"simple": 8}, "required": 1},
    {"name": "to_seq", "field": "to_seq", "type": {"simple": 8}, "required": 1},
    {"name": "total", "field": "total", "type": {"simple": 1}, "required": 1},
    {"name": "offset", "field": "offset", "type": {"simple": 1}, "required": 1},
    {"name": "next", "field": "next", "type": {"simple": 1}},
   ],
   "children": [{"name": "message", "field": "message", "type": {"class": "RecalledMessage"}, "max": 0}],
  },
  "RecalledMessage": {
   "attributes": [
    {"name": "seq", "field": "seq", "type": {"simple": 8}, "required": 1},
    {"name": "from", "field": "from_", "type": {"simple": 3}, "required": 1},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "ThreadEnded": {
   "element": "thread-ended",
   "attributes": [{"name": "id", "field": "id", "type": {"simple": 9}, "required": 1}],
  },
  "SystemThreadError": {
   "element": "system-thread-error",
   "attributes": [
    {"name": "unknown_id", "field": "unknown_id", "type": {"simple": 5}, "required": 1},
    {"name": "code", "field": "code", "type": {"simple": 15}, "required": 1},
    {"name": "message", "field": "message", "type": {"simple": 5}, "required": 1},
   ],
  },
  "SystemError": {
   "element": "system-error",
   "attributes": [
    {"name": "code", "field": "code", "type": {"simple": 16}, "required": 1},
    {"name": "first-code", "field": "first_code", "type": {"simple": 5}},
    {
     "name": "retry_allowed",
     "field": "retry_allowed",
     "type": {"simple": 7},
     "required": 1,
    },
    {"name": "message", "field": "message", "type": {"simple": 5}, "required": 1},
    {"name": "element", "field": "element", "type": {"simple": 5}},
    {"name": "hash", "field": "hash", "type": {"simple": 10}},
    {"name": "path", "field": "path", "type": {"simple": 5}},
    {"name": "line", "field": "line", "type": {"simple": 8}},
    {"name": "column", "field": "column", "type": {"simple": 8}},
   ],
   "children": [
    {"name": "expected", "field": "expected", "type": {"simple": 5}, "min": 0},
    {"name": "received", "field": "received", "type": {"simple": 5}, "min": 0},
    {"name": "schema", "field": "schema", "type": {"simple": 5}, "min": 0},
    {"name": "try", "field": "try_", "type": {"simple": 5}, "min": 0},
   ],
  },
  "Throttled": {
   "element": "throttled",
   "attributes": [
    {"name": "count", "field": "count", "type": {"simple": 1}, "required": 1},
    {"name": "first", "field": "first", "type": {"simple": 13}, "required": 1},
    {"name": "last", "field": "last", "type": {"simple": 13}, "required": 1},
   ],
  },
  "Handled": {"element": "handled"},
  "ChildrenOpen": {
   "element": "children-open",
   "attributes": [{"name": "count", "field": "count", "type": {"simple": 1}, "required": 1}],
  },
  "TodoOpen": {
   "element": "todo-open",
   "attributes": [
    {"name": "open", "field": "open", "type": {"simple": 1}, "required": 1},
    {"name": "total", "field": "total", "type": {"simple": 1}, "required": 1},
   ],
  },
  "BudgetWarning": {
   "element": "budget-warning",
   "attributes": [
    {"name": "what", "field": "what", "type": {"simple": 5}, "required": 1},
    {"name": "used", "field": "used", "type": {"simple": 5}, "required": 1},
    {"name": "limit", "field": "limit", "type": {"simple": 5}, "required": 1},
   ],
  },
  "BudgetExceeded": {
   "element": "budget-exceeded",
   "attributes": [
    {"name": "what", "field": "what", "type": {"simple": 5}, "required": 1},
    {"name": "used", "field": "used", "type": {"simple": 5}, "required": 1},
    {"name": "limit", "field": "limit", "type": {"simple": 5}, "required": 1},
   ],
  },
  "BudgetTime": {
   "element": "budget-time",
   "attributes": [
    {"name": "runs", "field": "runs", "type": {"simple": 17}, "required": 1},
    {"name": "used", "field": "used", "type": {"simple": 5}, "required": 1},
    {"name": "limit", "field": "limit", "type": {"simple": 5}, "required": 1},
   ],
  },
  "FinalReport": {
   "element": "final-report",
   "attributes": [
    {"name": "source", "field": "source", "type": {"simple": 18}, "required": 1},
    {"name": "outcome", "field": "outcome", "type": {"simple": 19}, "required": 1},
    {"name": "reason", "field": "reason", "type": {"simple": 5}},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "Attempt": {
   "element": "attempt",
   "attributes": [
    {"name": "number", "field": "number", "type": {"simple": 8}, "required": 1},
    {"name": "code", "field": "code", "type": {"simple": 16}},
    {"name": "with_pump", "field": "with_pump", "type": {"simple": 17}},
    {"name": "due", "field": "due", "type": {"simple": 13}, "required": 1},
    {"name": "outage", "field": "outage", "type": {"simple": 5}},
    {"name": "over", "field": "over", "type": {"simple": 17}},
    {"name": "taken", "field": "taken", "type": {"simple": 13}},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "DeadLetter": {
   "element": "dead-letter",
   "attributes": [
    {"name": "delivery", "field": "delivery", "type": {"simple": 5}, "required": 1},
    {"name": "attempts", "field": "attempts", "type": {"simple": 1}, "required": 1},
   ],
  },
  "ApprovalRequested": {
   "element": "approval-requested",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 20}, "required": 1},
    {"name": "hash", "field": "hash", "type": {"simple": 10}, "required": 1},
    {"name": "expires", "field": "expires", "type": {"simple": 13}, "required": 1},
    {"name": "thread", "field": "thread", "type": {"simple": 9}, "required": 1},
    {"name": "call", "field": "call", "type": {"simple": 5}, "required": 1},
    {"name": "to", "field": "to", "type": {"simple": 3}, "required": 1},
    {"name": "element", "field": "element", "type": {"simple": 5}, "required": 1},
    {"name": "unknown", "field": "unknown", "type": {"simple": 5}},
   ],
  },
  "ApprovalDecided": {
   "element": "approval-decided",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 20}, "required": 1},
    {"name": "outcome", "field": "outcome", "type": {"simple": 21}, "required": 1},
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
    {"name": "hash", "field": "hash", "type": {"simple": 10}},
    {"name": "note", "field": "note", "type": {"simple": 5}},
   ],
  },
  "PersonAsked": {
   "element": "person-asked",
   "attributes": [
    {"name": "id", "field": "id", "type": {"simple": 20}, "required": 1},
    {"name": "expires", "field": "expires", "type": {"simple": 13}, "required": 1},
    {"name": "thread", "field": "thread", "type": {"simple": 9}, "required": 1},
    {"name": "call", "field": "call", "type": {"simple": 5}, "required": 1},
    {"name": "from", "field": "from_", "type": {"simple": 3}, "required": 1},
   ],
   "children": [
    {"name": "question", "field": "question", "type": {"simple": 5}},
    {
     "name": "show",
     "field": "show",
     "type": {"class": "PersonAskedShow"},
     "min": 0,
     "max": 0,
    },
    {"name": "choice", "field": "choice", "type": {"simple": 5}, "min": 0, "max": 0},
   ],
  },
  "PersonAskedShow": {
   "attributes": [
    {"name": "seq", "field": "seq", "type": {"simple": 8}, "required": 1},
    {"name": "record", "field": "record", "type": {"simple": 8}, "required": 1},
    {"name": "hash", "field": "hash", "type": {"simple": 10}, "required": 1},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "PersonSaid": {
   "element": "person-said",
   "attributes": [
    {"name": "outcome", "field": "outcome", "type": {"simple": 22}, "required": 1},
    {"name": "choice", "field": "choice", "type": {"simple": 5}},
    {"name": "by", "field": "by", "type": {"simple": 3}},
    {"name": "clock", "field": "clock", "type": {"simple": 14}},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "Paused": {
   "element": "paused",
   "attributes": [
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
    {"name": "note", "field": "note", "type": {"simple": 5}},
   ],
  },
  "Resumed": {
   "element": "resumed",
   "attributes": [{"name": "by", "field": "by", "type": {"simple": 3}, "required": 1}],
  },
  "Reopened": {
   "element": "reopened",
   "attributes": [
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
    {"name": "retry", "field": "retry", "type": {"simple": 8}, "required": 1},
    {"name": "note", "field": "note", "type": {"simple": 5}},
    {"name": "effects", "field": "effects", "type": {"simple": 17}},
   ],
  },
  "Retried": {
   "element": "retried",
   "attributes": [
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
    {"name": "retry", "field": "retry", "type": {"simple": 8}, "required": 1},
    {"name": "note", "field": "note", "type": {"simple": 5}},
    {"name": "effects", "field": "effects", "type": {"simple": 17}},
   ],
  },
  "Boot": {
   "element": "boot",
   "attributes": [
    {"name": "organism", "field": "organism", "type": {"simple": 3}, "required": 1},
    {"name": "config", "field": "config", "type": {"simple": 10}, "required": 1},
    {"name": "at", "field": "at", "type": {"simple": 13}, "required": 1},
    {"name": "listeners", "field": "listeners", "type": {"simple": 23}, "required": 1},
    {"name": "version", "field": "version", "type": {"simple": 5}},
    {"name": "program", "field": "program", "type": {"simple": 10}},
   ],
  },
  "LossAccepted": {
   "element": "loss-accepted",
   "attributes": [
    {"name": "first", "field": "first", "type": {"simple": 8}, "required": 1},
    {"name": "last", "field": "last", "type": {"simple": 8}, "required": 1},
   ],
  },
  "Erased": {
   "element": "erased",
   "attributes": [
    {"name": "by", "field": "by", "type": {"simple": 5}},
    {"name": "reason", "field": "reason", "type": {"simple": 5}},
    {"name": "forked", "field": "forked", "type": {"simple": 17}},
    {"name": "complete", "field": "complete", "type": {"simple": 17}},
   ],
   "children": [
    {
     "name": "record",
     "field": "record",
     "type": {"class": "ErasedRecord"},
     "min": 0,
     "max": 0,
    },
    {
     "name": "document",
     "field": "document",
     "type": {"class": "ErasedDocument"},
     "min": 0,
     "max": 0,
    },
   ],
  },
  "ErasedRecord": {
   "attributes": [
    {"name": "position", "field": "position", "type": {"simple": 8}, "required": 1},
    {"name": "parts", "field": "parts", "type": {"simple": 5}, "required": 1},
   ],
  },
  "ErasedDocument": {
   "attributes": [
    {"name": "hash", "field": "hash", "type": {"simple": 10}, "required": 1},
    {"name": "before", "field": "before", "type": {"simple": 10}},
   ],
  },
  "ErasedBody": {"element": "erased-body", "text": {"field": "text", "type": {"simple": 5}}},
  "Forked": {
   "element": "forked",
   "attributes": [
    {"name": "call", "field": "call", "type": {"simple": 5}, "required": 1},
    {"name": "turn", "field": "turn", "type": {"simple": 8}, "required": 1},
   ],
  },
  "Subject": {
   "element": "subject",
   "attributes": [{"name": "text", "field": "text", "type": {"simple": 5}, "required": 1}],
  },
  "Stuck": {
   "element": "stuck",
   "attributes": [
    {"name": "listener", "field": "listener", "type": {"simple": 3}, "required": 1},
    {"name": "cause", "field": "cause", "type": {"simple": 5}, "required": 1},
    {"name": "calls", "field": "calls", "type": {"simple": 8}, "required": 1},
    {"name": "thread", "field": "thread", "type": {"simple": 9}, "required": 1},
    {"name": "call", "field": "call", "type": {"simple": 5}, "required": 1},
    {"name": "since", "field": "since", "type": {"simple": 13}, "required": 1},
    {"name": "at", "field": "at", "type": {"simple": 13}, "required": 1},
   ],
  },
  "Shutdown": {
   "element": "shutdown",
   "attributes": [
    {"name": "mode", "field": "mode", "type": {"simple": 5}, "required": 1},
    {"name": "out", "field": "out", "type": {"simple": 8}},
    {"name": "for", "field": "for_", "type": {"simple": 24}},
   ],
  },
  "ListenerJoined": {
   "element": "listener-joined",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "sandbox", "field": "sandbox", "type": {"simple": 25}},
   ],
   "children": [
    {
     "name": "file",
     "field": "file",
     "type": {"class": "ListenerJoinedFile"},
     "min": 0,
     "max": 0,
    },
   ],
  },
  "ListenerJoinedFile": {
   "attributes": [
    {"name": "path", "field": "path", "type": {"simple": 5}, "required": 1},
    {"name": "sha256", "field": "sha256", "type": {"simple": 10}},
   ],
  },
  "ListenerLeft": {
   "element": "listener-left",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "reason", "field": "reason", "type": {"simple": 5}, "required": 1},
   ],
  },
  "FollowerBegan": {
   "element": "follower-began",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "position", "field": "position", "type": {"simple": 1}, "required": 1},
   ],
  },
  "FollowerCaughtUp": {
   "element": "follower-caught-up",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "position", "field": "position", "type": {"simple": 1}, "required": 1},
   ],
  },
  "FollowSkipped": {
   "element": "follow-skipped",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "position", "field": "position", "type": {"simple": 1}, "required": 1},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "FollowerBehind": {
   "element": "follower-behind",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "position", "field": "position", "type": {"simple": 1}, "required": 1},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "FollowerStopped": {
   "element": "follower-stopped",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "position", "field": "position", "type": {"simple": 1}, "required": 1},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "Reloaded": {
   "element": "reloaded",
   "attributes": [
    {"name": "config", "field": "config", "type": {"simple": 10}, "required": 1},
    {"name": "before", "field": "before", "type": {"simple": 10}, "required": 1},
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
    {"name": "back", "field": "back", "type": {"simple": 7}},
   ],
  },
  "ReloadFailed": {
   "element": "reload-failed",
   "attributes": [
    {"name": "config", "field": "config", "type": {"simple": 10}, "required": 1},
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
   ],
   "text": {"field": "text", "type": {"simple": 5}},
  },
  "ScheduleBegan": {
   "element": "schedule-began",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "rule", "field": "rule", "type": {"simple": 5}, "required": 1},
    {"name": "at", "field": "at", "type": {"simple": 13}, "required": 1},
   ],
  },
  "ScheduleEnded": {
   "element": "schedule-ended",
   "attributes": [{"name": "name", "field": "name", "type": {"simple": 3}, "required": 1}],
  },
  "ScheduleFired": {
   "element": "schedule-fired",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "tick", "field": "tick", "type": {"simple": 13}, "required": 1},
    {"name": "thread", "field": "thread", "type": {"simple": 9}, "required": 1},
    {"name": "by", "field": "by", "type": {"simple": 3}},
   ],
  },
  "ScheduleSkipped": {
   "element": "schedule-skipped",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "reason", "field": "reason", "type": {"simple": 26}, "required": 1},
    {"name": "from", "field": "from_", "type": {"simple": 13}, "required": 1},
    {"name": "to", "field": "to", "type": {"simple": 13}, "required": 1},
   ],
  },
  "SchedulePaused": {
   "element": "schedule-paused",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
   ],
  },
  "ScheduleResumed": {
   "element": "schedule-resumed",
   "attributes": [
    {"name": "name", "field": "name", "type": {"simple": 3}, "required": 1},
    {"name": "by", "field": "by", "type": {"simple": 3}, "required": 1},
   ],
  },
 },
 "simple": [
  {"base": "string", "patterns": [["[0-9a-z][\\x2d0-9a-z]{0,31}"]]},
  {"base": "nonNegativeInteger", "wide": 1},
  {"base": "string", "patterns": [["[0-9]+(?:\\x2e[0-9]{1,6})?\\x20[A-Z]{3}"]]},
  {
   "base": "string",
   "patterns": [["[a-z][\\x2d0-9a-z]*(?:\\x2e[a-z][\\x2d0-9a-z]*)*"]],
   "maxLength": 63,
  },
  {"base": "string", "patterns": [["a(?:ll|ny)", "[1-9][0-9]*"]], "maxLength": 4},
  {"base": "string"},
  {"base": "string", "minLength": 1, "maxLength": 32},
  {"base": "string", "values": ["true", "false"]},
  {"base": "positiveInteger", "wide": 1},
  {
   "base": "string",
   "patterns": [["sess\\x2d[0-9a-f]{12,64}(?:\\x2e[0-9a-z][\\x2d0-9a-z]{0,31})*", "sys"]],
   "maxLength": 2240,
  },
  {"base": "string", "patterns": [["[0-9a-f]{64}"]]},
  {
   "base": "string",
   "values": ["answered", "handled", "failed", "rejected", "expired", "cancelled", "budget"],
  },
  {"base": "string", "values": ["done", "timer", "message", "budget"]},
  {"base": "dateTime"},
  {"base": "string", "values": ["set-back"]},
  {"base": "string", "values": ["unknown_thread", "thread_ended"]},
  {"base": "string", "minLength": 1, "maxLength": 128},
  {"base": "boolean"},
  {"base": "string", "values": ["model", "forced", "synthetic"]},
  {"base": "string", "values": ["success", "partial", "failure"]},
  {"base": "string", "patterns": [["a[1-9][0-9]*"]]},
  {"base": "string", "values": ["approved", "amended", "rejected", "expired"]},
  {"base": "string", "values": ["chosen", "expired"]},
  {
   "base": "string",
   "patterns": [
    [
     "(?:[a-z][\\x2d0-9a-z]*(?:\\x2e[a-z][\\x2d0-9a-z]*)*(?:\\x20[a-z][\\x2d0-9a-z]*(?:\\x2e[a-z][\\x2d0-9a-z]*)*)*)?",
    ],
   ],
  },
  {"base": "string", "values": ["reload", "command"]},
  {"base": "string", "values": ["full", "landlock"]},
  {"base": "string", "values": ["overlap", "missed", "paused", "fired"]},
 ],
}

bind(
    TABLE,
    SpawnThread,
    SpawnThreadInitialPayload,
    AwaitThreads,
    AwaitThreadsThread,
    SetTimer,
    CancelTimer,
    TodoUntil,
    TodoUntilStep,
    CancelThread,
    ClearContext,
    Recall,
    AskPerson,
    AskPersonShow,
    Steer,
    ThreadSpawned,
    ThreadFinished,
    AwaitOver,
    TimerSet,
    TimerFired,
    TimerFinished,
    TimerCancelled,
    ThreadCancelled,
    ContextCleared,
    Recalled,
    RecalledMessage,
    ThreadEnded,
    SystemThreadError,
    SystemError,
    Throttled,
    Handled,
    ChildrenOpen,
    TodoOpen,
    BudgetWarning,
    BudgetExceeded,
    BudgetTime,
    FinalReport,
    Attempt,
    DeadLetter,
    ApprovalRequested,
    ApprovalDecided,
    PersonAsked,
    PersonAskedShow,
    PersonSaid,
    Paused,
    Resumed,
    Reopened,
    Retried,
    Boot,
    LossAccepted,
    Erased,
    ErasedRecord,
    ErasedDocument,
    ErasedBody,
    Forked,
    Subject,
    Stuck,
    Shutdown,
    ListenerJoined,
    ListenerJoinedFile,
    ListenerLeft,
    FollowerBegan,
    FollowerCaughtUp,
    FollowSkipped,
    FollowerBehind,
    FollowerStopped,
    Reloaded,
    ReloadFailed,
    ScheduleBegan,
    ScheduleEnded,
    ScheduleFired,
    ScheduleSkipped,
    SchedulePaused,
    ScheduleResumed,
)
