"""The bodies of the HTTP door.

Written by `make_client.py` from `schemas/openapi.json`: do not edit, write it again.
"""
from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


class _Refusal(TypedDict):
    code: str
    message: str
    retry_allowed: bool
    told: str


_RefusalMay = TypedDict("_RefusalMay", {"element": "str", "path": "str", "line": "int", "column": "int",
        "expected": "str", "received": "str", "schema": "str", "try": "str", "hash": "str"}, total=False)

class Refusal(_Refusal, _RefusalMay):
    pass


class FileStored(TypedDict):
    sha256: str
    type: str
    bytes: int


class _Receipt(TypedDict):
    id: str
    thread: str
    seq: int
    position: int
    call: str
    sender: str
    key: str
    repeated: bool


class Receipt(_Receipt, total=False):
    claimed: str


class _Outcome(TypedDict):
    outcome: Literal['answered', 'partial', 'reported', 'handled', 'failed', 'open']
    thread: str
    call: str


class Outcome(_Outcome, total=False):
    code: str
    position: int
    payload: str


class _AnsweredReceipt(TypedDict):
    id: str
    thread: str
    seq: int
    position: int
    call: str
    sender: str
    key: str
    repeated: bool
    result: Outcome


class AnsweredReceipt(_AnsweredReceipt, total=False):
    claimed: str


Record = TypedDict("Record", {"position": "int", "thread": "str", "seq": "int", "id": "str", "kind": "str",
        "from": "str", "to": "str | None", "call": "str | None", "turn": "int | None", "ordinal": "int | None",
        "cause": "str | None", "key": "str | None", "origin": "str | None", "time": "str", "config": "str",
        "code": "str | None", "head": "str", "body": "str"})

class Spoken(TypedDict):
    listener: str
    thread: str
    call: str
    words: str
    whole: bool
    turn: int
    attempt: int


class _Status(TypedDict):
    organism: str
    pid: int
    config: str
    position: int
    version: str
    roles: list[Literal['read', 'operate', 'approve', 'answer', 'approve-own']]


class Status(_Status, total=False):
    alarms: list[Alarm]
    client: str


_Alarm = TypedDict("_Alarm", {"words": "str", "try": "str", "since": "str", "until": "str | None"})

class Alarm(_Alarm, total=False):
    follower: str


class Workers(TypedDict):
    workers: dict[str, int]


class Followers(TypedDict):
    followers: list[Follower]


class Follower(TypedDict):
    name: str
    to: str
    on: list[str]
    state: Literal['follows', 'behind', 'stopped', 'waits']
    position: int | None
    behind: int | None
    error: str | None
    since: str | None


class _Cancelled(TypedDict):
    cancelled: str


class Cancelled(_Cancelled, total=False):
    call: int


class WaitingCancelled(TypedDict):
    to: str
    cancelled: int


class Ended(TypedDict):
    ended: str


class Pause(TypedDict):
    thread: str | None
    by: str
    since: str
    note: str | None


class AnewShown(TypedDict):
    thread: str
    seen: str
    call: str
    listener: str
    code: str
    request: str
    changed: bool
    tokens: int
    money: str | None
    effects: list[str]
    sent: list[str]
    key: str

AnewValues = list[str]

class RetryShownStarts(TypedDict):
    key: str
    thread: str | None
    cancelled: bool
    tokens: int
    money: str | None


class RetryShown(TypedDict):
    thread: str
    seen: str
    seq: int
    position: int
    call: str
    listener: str
    turn: int
    retries: int
    code: str
    workflow: bool
    keeps_steps: bool
    starts: list[RetryShownStarts]
    effects: list[str]


class RetryOrderFilter(TypedDict, total=False):
    since: str
    until: str
    listener: str
    client: str
    name: str
    code: str
    q: str
    after: str


class _RetryOrder(TypedDict):
    at: int


class RetryOrder(_RetryOrder, total=False):
    filter: RetryOrderFilter
    note: str
    effects: bool


class RetriesGivenRefused(TypedDict):
    thread: str
    refusal: Refusal


class RetriesGiven(TypedDict):
    retried: list[str]
    refused: list[RetriesGivenRefused]
    next: str | None


class ThreadRetried(TypedDict):
    retried: str


class _PauseChanged(TypedDict):
    thread: str | None
    paused: bool


class PauseChanged(_PauseChanged, total=False):
    held: Pause


class _Decision(TypedDict):
    outcome: Literal['approved', 'rejected', 'amended', 'chosen']


class Decision(_Decision, total=False):
    note: str | None
    hash: str | None
    payload: str | None
    choice: str | None


class _Decided(TypedDict):
    approval: str
    outcome: Literal['approved', 'rejected', 'amended', 'chosen']


class Decided(_Decided, total=False):
    choice: str


class OutsideMessage(TypedDict):
    by: str
    thread: str
    seq: int
    at: str
    payload: str


ShownMessage = TypedDict("ShownMessage", {"seq": "int", "label": "str", "from": "str", "hash": "str",
        "payload": "str", "changes": "list[StepChange]"})

class StepChange(TypedDict):
    workspace: str
    thread: str
    seq: int
    outcome: str
    payload: str


class Approval(TypedDict):
    kind: Literal['approval']
    id: str
    thread: str
    call: str
    caller: str
    listener: str
    config: str
    hash: str
    asked: str
    expires: str
    request: OutsideMessage | None
    unanswered: str | None
    may: list[str]
    element: str
    payload: str
    unknown: str | None


class Question(TypedDict):
    kind: Literal['question']
    id: str
    thread: str
    call: str
    caller: str
    listener: str
    config: str
    hash: str
    asked: str
    expires: str
    request: OutsideMessage | None
    unanswered: str | None
    may: list[str]
    question: str
    shows: list[ShownMessage]
    choices: list[str]


class Approvals(TypedDict):
    approvals: list[Approval | Question]


class Decisions(TypedDict):
    decisions: list[MadeDecision]
    next: str | None


class MadeDecision(TypedDict):
    id: str
    kind: Literal['approval', 'question']
    thread: str
    call: str
    caller: str
    listener: str
    about: str
    payload: str
    hash: str
    record: int
    sent: str | None
    unknown: str | None
    asked: str
    at: str
    by: str | None
    outcome: Literal['approved', 'amended', 'rejected', 'expired', 'chosen']
    choice: str | None
    note: str | None
    seq: int
    ran: RanCall | None


class RanCall(TypedDict):
    listener: str
    state: Literal['answered', 'handled', 'failed', 'open', 'ended']
    what: str | None
    at: str | None
    seq: int | None


Goal = TypedDict("Goal", {"workflow": "str", "step": "str", "item": "int | None", "loop": "str | None",
        "pass": "int | None", "agent": "str | None", "sentence": "str | None"})

StepProgress = TypedDict("StepProgress", {"step": "str", "loop": "str | None", "pass": "int | None", "done": "int",
        "failed": "int", "running": "int", "of": "int | None"})

class Used(TypedDict):
    messages: int
    children: int
    tokens: int
    money: str | None


class _ThreadEntry(TypedDict):
    thread: str
    state: Literal['paused', 'working', 'waiting', 'cancelled', 'failed', 'answered']
    life: Literal['working', 'resting', 'ended']
    failed: FirstCause | None
    paused: Pause | None
    since: str
    words: str
    goal: Goal | None
    steps: list[StepProgress]
    refusals: int
    more_refusals: bool
    used: Used


class ThreadEntry(_ThreadEntry, total=False):
    opened: str
    by: str
    to: str
    element: str
    subject: str
    name: str | None
    code: str | None
    first_code: str | None
    took_ms: int
    retries: int
    cost: CostRow
    records: int
    children: list[str]


class Threads(TypedDict):
    running: int | None
    paused: Pause | None
    threads: list[ThreadEntry]
    next: str | None
    index: IndexEnd | None


class IndexEnd(TypedDict):
    position: int
    leaf: str


class ReloadPreview(TypedDict):
    config: str
    before: str
    reload: list[str]
    restart: list[str]


class RunBeginningReloaded(TypedDict):
    before: str
    by: str
    back: bool


class RunBeginningFailed(TypedDict):
    config: str
    by: str
    message: str


class RunBeginning(TypedDict):
    began: int
    config: str
    reloaded: RunBeginningReloaded
    failed: RunBeginningFailed


class ScheduleChanged(TypedDict):
    schedule: str
    change: Literal['paused', 'resumed', 'fired']
    thread: str | None


class SchedulesSchedules(TypedDict):
    name: str
    rule: str
    state: Literal['waits', 'paused', 'ended']
    paused: str | None
    next: str | None
    fired: str | None
    thread: str | None


class Schedules(TypedDict):
    schedules: list[SchedulesSchedules]


class SlowRows(TypedDict):
    name: str
    count: int
    failures: int
    unknown: int
    mean_ms: int
    longest_ms: int


class SlowSlowest(TypedDict):
    listener: str
    model: str | None
    took_ms: int
    outcome: str
    thread: str
    seq: int


class Slow(TypedDict):
    by: Literal['listener', 'model']
    rows: list[SlowRows]
    slowest: list[SlowSlowest]
    index: IndexEnd | None


class FailedAttempt(TypedDict):
    at: str
    code: str | None
    words: str


class FirstCausePlaces(TypedDict):
    code: str
    name: str | None


class FirstCause(TypedDict):
    code: str
    words: str
    places: list[FirstCausePlaces]


class WaitReason(TypedDict):
    thread: str
    call: str
    listener: str
    turn: int
    cause: str
    since: str
    words: str
    goal: Goal | None
    steps: list[StepProgress]
    ends: str | None
    attempt: int
    attempts: int
    program: list[str] | None
    failures: list[FailedAttempt]
    log_from: int
    below: list[WaitReason]


ThreadWhyAnew = TypedDict("ThreadWhyAnew", {"from": "str | None", "as": "list[str]"})

class ThreadWhyTimers(TypedDict):
    id: str
    listener: str
    due: str


class ThreadWhyModels(TypedDict):
    call: str
    tokens: int
    tokens_limit: int | None
    money: str | None
    money_limit: str | None


class ThreadWhyTimes(TypedDict):
    call: str
    runs: bool
    used_ms: int
    limit_ms: int


class ThreadWhy(TypedDict):
    thread: str
    state: Literal['paused', 'working', 'waiting', 'cancelled', 'failed', 'answered']
    life: Literal['working', 'resting', 'ended']
    paused: Pause | None
    running: int | None
    touched: str
    waits: bool
    anew: ThreadWhyAnew
    timers: list[ThreadWhyTimers]
    models: list[ThreadWhyModels]
    times: list[ThreadWhyTimes]
    failed: FirstCause | None
    reasons: list[WaitReason]


class Thread(TypedDict):
    thread: str
    state: Literal['paused', 'working', 'waiting', 'cancelled', 'failed', 'answered']
    life: Literal['working', 'resting', 'ended']
    failed: FirstCause | None
    paused: Pause | None
    since: str
    words: str
    goal: Goal | None
    steps: list[StepProgress]
    refusals: int
    more_refusals: bool
    used: Used
    records: int
    why: ThreadWhy


class Wait(TypedDict):
    thread: str
    since: str
    waited_ms: int
    cause: str
    words: str
    goal: Goal | None
    command: str


class Waits(TypedDict):
    running: int | None
    paused: Pause | None
    waits: list[Wait]


class LogOpening(TypedDict):
    last: int
    rows: list[ThreadRow]


class ThreadRow(TypedDict):
    thread: str
    seq: int
    state: str


class ThreadIds(TypedDict):
    threads: list[str]


class StoredRecords(TypedDict):
    records: list[StoredRecord]
    next: int | None


StoredRecord = TypedDict("StoredRecord", {"position": "int", "thread": "str", "seq": "int", "id": "str",
        "kind": "str", "from": "str", "to": "str | None", "call": "str | None", "turn": "int | None",
        "ordinal": "int | None", "cause": "str | None", "key": "str | None", "origin": "str | None", "time": "str",
        "config": "str", "code": "str | None", "length": "int", "holes": "str", "parts": "list[StoredPart]",
        "head": "str"})

class _StoredPart(TypedDict):
    c: str


class StoredPart(_StoredPart, total=False):
    salt: str
    text: str
    hex: str


class RecordPage(TypedDict):
    thread: str
    records: list[Record]
    next: int | None


class TreeEnd(TypedDict):
    at: str
    by: str


class TreeThread(TypedDict):
    thread: str
    opened: str
    records: int
    calls: list[TreeCall]
    cancelled: TreeEnd | None
    ended: TreeEnd | None
    cut: bool


class Tree(TypedDict):
    thread: str
    opened: str
    records: int
    calls: list[TreeCall]
    cancelled: TreeEnd | None
    ended: TreeEnd | None
    cut: bool
    state: Literal['paused', 'working', 'waiting', 'cancelled', 'failed', 'answered']
    life: Literal['working', 'resting', 'ended']
    paused: Pause | None
    picture: RunPicture | None


class RunPicture(TypedDict):
    thread: str
    call: str
    kind: Literal['workflow', 'agent']
    name: str
    state: str
    started: str
    ended: str | None
    used: CostRow
    steps: list[PictureStep]


class PictureStepItems(TypedDict):
    done: int
    failed: int
    running: int
    of: int | None


PictureStep = TypedDict("PictureStep", {"step": "str", "kind": "str", "state": "str", "who": "list[str]",
        "pass": "int | None", "at_most": "int | None", "items": "PictureStepItems", "tries": "int | None",
        "started": "str | None", "ended": "str | None", "used": "CostRow", "output": "str | None",
        "thread": "str | None", "seq": "int | None", "steps": "list[PictureStep]"})

class TreeCall(TypedDict):
    call: str
    listener: str
    caller: str
    element: str
    fields: str
    seq: int
    opened: str
    state: Literal['answered', 'handled', 'failed', 'cancelled', 'open']
    detail: str | None
    ended: str | None
    turns: int
    retries: int
    wrap_up: str | None
    approval: str | None
    items: list[TreeItem]


class TreeItem2(TypedDict):
    item: str
    note: str


class TreeItem3(TypedDict):
    item: str
    refused: str
    message: str


class TreeItem4(TypedDict):
    item: str
    steered: bool


class TreeItem5(TypedDict):
    item: str
    gather: Literal['all', 'first']
    calls: list[TreeCall]


class TreeItem6(TypedDict):
    item: str

TreeItem = Union["TreeCall", "TreeThread", TreeItem2, TreeItem3, TreeItem4, TreeItem5, TreeItem6]

class TodoCallsListsSteps(TypedDict):
    done: bool
    text: str


class TodoCallsLists(TypedDict):
    seq: int
    condition: str | None
    steps: list[TodoCallsListsSteps]


class TodoCalls(TypedDict):
    call: str
    listener: str
    lists: list[TodoCallsLists]


class Todo(TypedDict):
    thread: str
    seq: int
    calls: list[TodoCalls]


class ContextLinks0(TypedDict):
    system: str
    tools: list[dict[str, Any]]


class ContextLinks1(TypedDict):
    messages: list[dict[str, Any]]


class ContextLinks2(TypedDict):
    header: str


class Context(TypedDict):
    thread: str
    seq: int
    listener: str
    model: str
    turn: int | None
    config: str | None
    running: str | None
    prompt: str
    links: list[ContextLinks0 | ContextLinks1 | ContextLinks2]


class CostRow(TypedDict):
    requests: int
    unknown: int
    tokens_in: int
    tokens_out: int
    money: list[str]
    uncounted: int
    unpriced: int


class ThreadCostRows(TypedDict):
    listener: str
    model: str
    used: CostRow


class ThreadCost(TypedDict):
    thread: str | None
    rows: list[ThreadCostRows]
    all: CostRow


class CostRows(TypedDict):
    value: str
    used: CostRow


class Cost(TypedDict):
    by: Literal['agent', 'model', 'client', 'day']
    rows: list[CostRows]
    all: CostRow


class TrailLinkOf(TypedDict):
    call: str | None
    turn: int | None
    attempt: int | None
    after: str | None


class TrailLinkModels(TypedDict):
    model: str
    start: str
    result: str | None
    stop: str | None
    tokens: int | None
    money: str | None


class TrailLinkDoor0(TypedDict):
    client: str
    key: str | None
    roles: list[str] | None


class TrailLink(TypedDict):
    place: str
    why: str
    because: str | None
    of: TrailLinkOf
    shown: list[str]
    models: list[TrailLinkModels]
    door: TrailLinkDoor0 | None
    record: Record


class Trail(TypedDict):
    cut: bool
    links: list[TrailLink]


class HitsHits(TypedDict):
    record: Record
    text: str
    match: list[int] | None


class Hits(TypedDict):
    hits: list[HitsHits]
    next: int | None


class ConfigurationsConfigurationsFirst(TypedDict):
    position: int
    time: str


class ConfigurationsConfigurationsLast(TypedDict):
    position: int
    time: str


class ConfigurationsConfigurations(TypedDict):
    hash: str
    first: ConfigurationsConfigurationsFirst
    last: ConfigurationsConfigurationsLast


class Configurations(TypedDict):
    running: str
    configurations: list[ConfigurationsConfigurations]


class Configuration(TypedDict):
    hash: str
    source: str
    unread: str | None


class _Graph(TypedDict):
    organism: str
    listeners: list[GraphNode]


class Graph(_Graph, total=False):
    entry: str


class SignInCode(TypedDict):
    code: str
    client: str


class _GraphNode(TypedDict):
    name: str
    from_outside: list[str]
    takes: list[str]
    answers: list[str]
    peers: list[str]
    approval: list[str]
    approval_if_marked: list[str]


class GraphNode(_GraphNode, total=False):
    workflow: bool
    depth: int

