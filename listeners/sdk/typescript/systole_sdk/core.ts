// Written by `systole sdk typescript`: do not edit, write it again.
/** Payloads of https://xml-pipeline.org/ns/core/v1. */
import { bind, type DateTimeText, type Element, type Part, type Payload, type Table } from "./payload.ts";

/** Opens a child thread; its first message is the payload inside. */
export interface SpawnThread extends Payload<"https://xml-pipeline.org/ns/core/v1 spawn-thread"> {
  readonly initial_payload: SpawnThreadInitialPayload;
  readonly suggested_sub_id?: string;
  readonly messages?: bigint;
  readonly tokens?: bigint;
  readonly money?: string;
}

export interface SpawnThreadInitialPayload extends Part {
  readonly to?: string;
  readonly any: Element;
}

/**
 * Waits for children of the sender: those named, or all that are open. A timer, a steering
 * message or a budget warning ends the wait as well.
 */
export interface AwaitThreads extends Payload<"https://xml-pipeline.org/ns/core/v1 await-threads"> {
  readonly thread?: readonly AwaitThreadsThread[];
  readonly mode: string;
}

export interface AwaitThreadsThread extends Part {
  readonly id: string;
}

/**
 * Sets a timer that fires once, after a time, or again and again; the text comes back with
 * each firing.
 */
export interface SetTimer extends Payload<"https://xml-pipeline.org/ns/core/v1 set-timer"> {
  readonly text: string;
  readonly id?: string;
  readonly after?: string;
  readonly every?: string;
}

/** Cancels a timer of the sender. */
export interface CancelTimer extends Payload<"https://xml-pipeline.org/ns/core/v1 cancel-timer"> {
  readonly id: string;
}

/**
 * What is still to do until a condition holds. The newest list with the same condition
 * replaces older ones.
 */
export interface TodoUntil extends Payload<"https://xml-pipeline.org/ns/core/v1 todo-until"> {
  readonly step?: readonly TodoUntilStep[];
  readonly condition: string;
}

export interface TodoUntilStep extends Part {
  readonly text: string;
  readonly done: "true" | "false";
}

/** Cancels a child thread of the sender and everything below it. */
export interface CancelThread extends Payload<"https://xml-pipeline.org/ns/core/v1 cancel-thread"> {
  readonly id: string;
}

/**
 * Clears the sender's own view of its call but for its last messages, in whole turns, and its
 * request.
 */
export interface ClearContext extends Payload<"https://xml-pipeline.org/ns/core/v1 clear-context"> {
  readonly keep: bigint;
}

/** Reads messages of the sender's own view again, cleared or not, by their numbers. */
export interface Recall extends Payload<"https://xml-pipeline.org/ns/core/v1 recall"> {
  readonly from_seq: bigint;
  readonly to_seq: bigint;
  readonly offset?: bigint;
  readonly length?: bigint;
}

/**
 * Asks a person and waits for the answer: one of the choices, or, without choices, the
 * person's own words.
 */
export interface AskPerson extends Payload<"https://xml-pipeline.org/ns/core/v1 ask-person"> {
  readonly question: string;
  readonly show?: readonly AskPersonShow[];
  readonly choice?: readonly string[];
  readonly expires?: string;
}

export interface AskPersonShow extends Part {
  readonly text: string;
  readonly seq: bigint;
}

/** A word for work that goes on: one payload that its listener takes. The pump says from whom. */
export interface Steer extends Payload<"https://xml-pipeline.org/ns/core/v1 steer"> {
  readonly from_?: string;
  readonly any: Element;
}

/** The child is open; it is recorded before the child's first delivery. */
export interface ThreadSpawned extends Payload<"https://xml-pipeline.org/ns/core/v1 thread-spawned"> {
  readonly assigned_id: string;
  readonly parent_id: string;
  readonly head: string;
  readonly message?: string;
  readonly messages?: bigint;
  readonly tokens?: bigint;
  readonly money?: string;
}

/** A child has ended; its result, if there is one, is inside. */
export interface ThreadFinished extends Payload<"https://xml-pipeline.org/ns/core/v1 thread-finished"> {
  readonly id: string;
  readonly outcome: "answered" | "handled" | "failed" | "rejected" | "expired" | "cancelled" | "budget";
  readonly head: string;
  readonly messages?: bigint;
  readonly children?: bigint;
  readonly tokens?: bigint;
  readonly money?: string;
  readonly requests?: bigint;
  readonly any?: Element;
}

/** A wait for children is over: why, how many of them have finished, and how many are open. */
export interface AwaitOver extends Payload<"https://xml-pipeline.org/ns/core/v1 await-over"> {
  readonly reason: "done" | "timer" | "message" | "budget";
  readonly finished: bigint;
  readonly open: bigint;
}

/** The timer is set and fires then, not before. */
export interface TimerSet extends Payload<"https://xml-pipeline.org/ns/core/v1 timer-set"> {
  readonly id: string;
  readonly due: DateTimeText;
}

/** A timer fired. Firings that were missed before this one are counted, not told one by one. */
export interface TimerFired extends Payload<"https://xml-pipeline.org/ns/core/v1 timer-fired"> {
  readonly text: string;
  readonly id: string;
  readonly missed?: bigint;
  readonly clock?: "set-back";
  readonly away?: string;
}

/**
 * A call that a timer opened is over: the timer with its note, how the call ended, and its
 * result, if there is one, inside.
 */
export interface TimerFinished extends Payload<"https://xml-pipeline.org/ns/core/v1 timer-finished"> {
  readonly id: string;
  readonly outcome: "answered" | "handled" | "failed" | "rejected" | "expired" | "cancelled" | "budget";
  readonly note: string;
  readonly thread: string;
  readonly call: string;
  readonly listener: string;
  readonly any?: Element;
}

/** The timer fires no more. */
export interface TimerCancelled extends Payload<"https://xml-pipeline.org/ns/core/v1 timer-cancelled"> {
  readonly id: string;
}

/** The child and its descendants are cancelled. */
export interface ThreadCancelled extends Payload<"https://xml-pipeline.org/ns/core/v1 thread-cancelled"> {
  readonly id: string;
  readonly threads: bigint;
}

/** These messages of the view are shown no more; 0 to 0 is none. They can be recalled. */
export interface ContextCleared extends Payload<"https://xml-pipeline.org/ns/core/v1 context-cleared"> {
  readonly kept_messages: bigint;
  readonly from_seq: bigint;
  readonly to_seq: bigint;
  readonly digest: string;
}

/**
 * Messages of the view as they were said, from a character of their text on; where it is more
 * than one answer holds, next says where it goes on.
 */
export interface Recalled extends Payload<"https://xml-pipeline.org/ns/core/v1 recalled"> {
  readonly message: readonly RecalledMessage[];
  readonly from_seq: bigint;
  readonly to_seq: bigint;
  readonly total: bigint;
  readonly offset: bigint;
  readonly next?: bigint;
}

export interface RecalledMessage extends Part {
  readonly text: string;
  readonly seq: bigint;
  readonly from_: string;
}

/** A thread at rest was ended by a person. */
export interface ThreadEnded extends Payload<"https://xml-pipeline.org/ns/core/v1 thread-ended"> {
  readonly id: string;
}

/** An item named a thread that it cannot be sent to; nothing was created. */
export interface SystemThreadError extends Payload<"https://xml-pipeline.org/ns/core/v1 system-thread-error"> {
  readonly unknown_id: string;
  readonly code: "unknown_thread" | "thread_ended";
  readonly message: string;
}

/** A refusal or a failure, worded so that the sender can fix the payload. */
export interface SystemError extends Payload<"https://xml-pipeline.org/ns/core/v1 system-error"> {
  readonly expected?: string;
  readonly received?: string;
  readonly schema?: string;
  readonly try_?: string;
  readonly code: string;
  readonly first_code?: string;
  readonly retry_allowed: "true" | "false";
  readonly message: string;
  readonly element?: string;
  readonly hash?: string;
  readonly path?: string;
  readonly line?: bigint;
  readonly column?: bigint;
}

/** So many refusals of one sender were counted and not recorded. */
export interface Throttled extends Payload<"https://xml-pipeline.org/ns/core/v1 throttled"> {
  readonly count: bigint;
  readonly first: DateTimeText;
  readonly last: DateTimeText;
}

/** Taken, and there is nothing to say. */
export interface Handled extends Payload<"https://xml-pipeline.org/ns/core/v1 handled"> {
}

/** A final came while children run; the next final is taken. */
export interface ChildrenOpen extends Payload<"https://xml-pipeline.org/ns/core/v1 children-open"> {
  readonly count: bigint;
}

/** A final came while steps are open; the next final is taken. */
export interface TodoOpen extends Payload<"https://xml-pipeline.org/ns/core/v1 todo-open"> {
  readonly open: bigint;
  readonly total: bigint;
}

/** Most of a budget is used. */
export interface BudgetWarning extends Payload<"https://xml-pipeline.org/ns/core/v1 budget-warning"> {
  readonly what: string;
  readonly used: string;
  readonly limit: string;
}

/** A budget is used up; what was said so far is kept. */
export interface BudgetExceeded extends Payload<"https://xml-pipeline.org/ns/core/v1 budget-exceeded"> {
  readonly what: string;
  readonly used: string;
  readonly limit: string;
}

/**
 * How long a message from outside was worked on, and whether it is from here on: not while
 * only persons and timers are waited for.
 */
export interface BudgetTime extends Payload<"https://xml-pipeline.org/ns/core/v1 budget-time"> {
  readonly runs: boolean;
  readonly used: string;
  readonly limit: string;
}

/** How a call ended, in place of its answer; every caller accepts it. */
export interface FinalReport extends Payload<"https://xml-pipeline.org/ns/core/v1 final-report"> {
  readonly text: string;
  readonly source: "model" | "forced" | "synthetic";
  readonly outcome: "success" | "partial" | "failure";
  readonly reason?: string;
}

/** A turn is handed to its listener, often again; the text says why. */
export interface Attempt extends Payload<"https://xml-pipeline.org/ns/core/v1 attempt"> {
  readonly text: string;
  readonly number: bigint;
  readonly code?: string;
  readonly with_pump?: boolean;
  readonly due: DateTimeText;
  readonly outage?: string;
  readonly over?: boolean;
  readonly taken?: DateTimeText;
}

/** A delivery that is not tried again. */
export interface DeadLetter extends Payload<"https://xml-pipeline.org/ns/core/v1 dead-letter"> {
  readonly delivery: string;
  readonly attempts: bigint;
}

/**
 * A payload waits for a person, who may approve, reject or amend it; or one more attempt at it
 * does.
 */
export interface ApprovalRequested extends Payload<"https://xml-pipeline.org/ns/core/v1 approval-requested"> {
  readonly id: string;
  readonly hash: string;
  readonly expires: DateTimeText;
  readonly thread: string;
  readonly call: string;
  readonly to: string;
  readonly element: string;
  readonly unknown?: string;
}

/** A payload waits for a person no longer. */
export interface ApprovalDecided extends Payload<"https://xml-pipeline.org/ns/core/v1 approval-decided"> {
  readonly id: string;
  readonly outcome: "approved" | "amended" | "rejected" | "expired";
  readonly by: string;
  readonly hash?: string;
  readonly note?: string;
}

/** A question waits for a person. */
export interface PersonAsked extends Payload<"https://xml-pipeline.org/ns/core/v1 person-asked"> {
  readonly question: string;
  readonly show?: readonly PersonAskedShow[];
  readonly choice?: readonly string[];
  readonly id: string;
  readonly expires: DateTimeText;
  readonly thread: string;
  readonly call: string;
  readonly from_: string;
}

export interface PersonAskedShow extends Part {
  readonly text: string;
  readonly seq: bigint;
  readonly record: bigint;
  readonly hash: string;
}

/** What a person answered, with a note; or that no person answered in time. */
export interface PersonSaid extends Payload<"https://xml-pipeline.org/ns/core/v1 person-said"> {
  readonly text: string;
  readonly outcome: "chosen" | "expired";
  readonly choice?: string;
  readonly by?: string;
  readonly clock?: "set-back";
}

/** Nothing new of this thread goes out; in `sys`, of any thread. */
export interface Paused extends Payload<"https://xml-pipeline.org/ns/core/v1 paused"> {
  readonly by: string;
  readonly note?: string;
}

/** What was paused goes on. */
export interface Resumed extends Payload<"https://xml-pipeline.org/ns/core/v1 resumed"> {
  readonly by: string;
}

/**
 * The last call of a root, which failed, is open again; `effects` says that effects outside
 * may happen again.
 */
export interface Reopened extends Payload<"https://xml-pipeline.org/ns/core/v1 reopened"> {
  readonly by: string;
  readonly retry: bigint;
  readonly note?: string;
  readonly effects?: boolean;
}

/** Tells a run of a workflow that it is tried again: what failed may be started once more. */
export interface Retried extends Payload<"https://xml-pipeline.org/ns/core/v1 retried"> {
  readonly by: string;
  readonly retry: bigint;
  readonly note?: string;
  readonly effects?: boolean;
}

/** The organism starts. */
export interface Boot extends Payload<"https://xml-pipeline.org/ns/core/v1 boot"> {
  readonly organism: string;
  readonly config: string;
  readonly at: DateTimeText;
  readonly listeners: string;
  readonly version?: string;
  readonly program?: string;
}

/** The log goes on without these positions: they were acknowledged and are missing. */
export interface LossAccepted extends Payload<"https://xml-pipeline.org/ns/core/v1 loss-accepted"> {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Bytes were taken out of these records and documents for good. With forked, the ones before
 * it name positions of the log that was forked. With complete, every document that was left
 * without bytes is named.
 */
export interface Erased extends Payload<"https://xml-pipeline.org/ns/core/v1 erased"> {
  readonly record?: readonly ErasedRecord[];
  readonly document?: readonly ErasedDocument[];
  readonly by?: string;
  readonly reason?: string;
  readonly forked?: boolean;
  readonly complete?: boolean;
}

export interface ErasedRecord extends Part {
  readonly position: bigint;
  readonly parts: string;
}

export interface ErasedDocument extends Part {
  readonly hash: string;
  readonly before?: string;
}

/** Stands for a body that was erased whole. */
export interface ErasedBody extends Payload<"https://xml-pipeline.org/ns/core/v1 erased-body"> {
  readonly text: string;
}

/** The thread goes on here in a log of its own, from the beginning of that turn. */
export interface Forked extends Payload<"https://xml-pipeline.org/ns/core/v1 forked"> {
  readonly call: string;
  readonly turn: bigint;
}

/** What the thread is about, as the client says that sent the message before it. */
export interface Subject extends Payload<"https://xml-pipeline.org/ns/core/v1 subject"> {
  readonly text: string;
}

/**
 * Calls to a listener have waited for the same for too long: how many that no earlier record
 * counts, and the one of them that waits longest.
 */
export interface Stuck extends Payload<"https://xml-pipeline.org/ns/core/v1 stuck"> {
  readonly listener: string;
  readonly cause: string;
  readonly calls: bigint;
  readonly thread: string;
  readonly call: string;
  readonly since: DateTimeText;
  readonly at: DateTimeText;
}

/**
 * The organism stops: for a reload, to go on at once with another configuration; for a
 * command, because it ran for that command only. Workers on other machines may still have so
 * many deliveries.
 */
export interface Shutdown extends Payload<"https://xml-pipeline.org/ns/core/v1 shutdown"> {
  readonly mode: string;
  readonly out?: bigint;
  readonly for_?: "reload" | "command";
}

/** A listener is ready, or is again after a fall. */
export interface ListenerJoined extends Payload<"https://xml-pipeline.org/ns/core/v1 listener-joined"> {
  /**
   * A file that the listener's program was started with. Without its hash it could not be read,
   * or is too large.
   */
  readonly file?: readonly ListenerJoinedFile[];
  readonly name: string;
  readonly sandbox?: "full" | "landlock";
}

/**
 * A file that the listener's program was started with. Without its hash it could not be read,
 * or is too large.
 */
export interface ListenerJoinedFile extends Part {
  readonly path: string;
  readonly sha256?: string;
}

/** A listener is gone. */
export interface ListenerLeft extends Payload<"https://xml-pipeline.org/ns/core/v1 listener-left"> {
  readonly name: string;
  readonly reason: string;
}

/** A follower begins after this position of the log. */
export interface FollowerBegan extends Payload<"https://xml-pipeline.org/ns/core/v1 follower-began"> {
  readonly name: string;
  readonly position: bigint;
}

/** A follower that was behind is at the end of the log again. */
export interface FollowerCaughtUp extends Payload<"https://xml-pipeline.org/ns/core/v1 follower-caught-up"> {
  readonly name: string;
  readonly position: bigint;
}

/** The receiver of a follower refused the record at this position; why. */
export interface FollowSkipped extends Payload<"https://xml-pipeline.org/ns/core/v1 follow-skipped"> {
  readonly text: string;
  readonly name: string;
  readonly position: bigint;
}

/** A follower has been behind the log for five minutes, at this position; why. */
export interface FollowerBehind extends Payload<"https://xml-pipeline.org/ns/core/v1 follower-behind"> {
  readonly text: string;
  readonly name: string;
  readonly position: bigint;
}

/** A follower sends nothing more until a person says where it goes on; why. */
export interface FollowerStopped extends Payload<"https://xml-pipeline.org/ns/core/v1 follower-stopped"> {
  readonly text: string;
  readonly name: string;
  readonly position: bigint;
}

/**
 * The organism goes on with another configuration, because this client ordered it; if back,
 * then with one that ran before.
 */
export interface Reloaded extends Payload<"https://xml-pipeline.org/ns/core/v1 reloaded"> {
  readonly config: string;
  readonly before: string;
  readonly by: string;
  readonly back?: "true" | "false";
}

/**
 * A configuration that this client ordered did not start; why. The organism goes on with the
 * one before.
 */
export interface ReloadFailed extends Payload<"https://xml-pipeline.org/ns/core/v1 reload-failed"> {
  readonly text: string;
  readonly config: string;
  readonly by: string;
}

/**
 * The ticks of a schedule count from this moment on: it is new, ticks otherwise than before,
 * or the clock was wrong.
 */
export interface ScheduleBegan extends Payload<"https://xml-pipeline.org/ns/core/v1 schedule-began"> {
  readonly name: string;
  readonly rule: string;
  readonly at: DateTimeText;
}

/** The organism's file no longer has a schedule. */
export interface ScheduleEnded extends Payload<"https://xml-pipeline.org/ns/core/v1 schedule-ended"> {
  readonly name: string;
}

/**
 * A tick of a schedule opened this thread, or a person had it opened, at a moment that is no
 * tick.
 */
export interface ScheduleFired extends Payload<"https://xml-pipeline.org/ns/core/v1 schedule-fired"> {
  readonly name: string;
  readonly tick: DateTimeText;
  readonly thread: string;
  readonly by?: string;
}

/** All ticks of a schedule from the first moment to the last opened no thread; why. */
export interface ScheduleSkipped extends Payload<"https://xml-pipeline.org/ns/core/v1 schedule-skipped"> {
  readonly name: string;
  readonly reason: "overlap" | "missed" | "paused" | "fired";
  readonly from_: DateTimeText;
  readonly to: DateTimeText;
}

/** A person paused a schedule. */
export interface SchedulePaused extends Payload<"https://xml-pipeline.org/ns/core/v1 schedule-paused"> {
  readonly name: string;
  readonly by: string;
}

/** A person had a paused schedule go on. */
export interface ScheduleResumed extends Payload<"https://xml-pipeline.org/ns/core/v1 schedule-resumed"> {
  readonly name: string;
  readonly by: string;
}

const TABLE: Table = {
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
};

const shapes = bind(TABLE);
export const SpawnThread = shapes.payload<SpawnThread>("SpawnThread");
export const SpawnThreadInitialPayload = shapes.part<SpawnThreadInitialPayload>("SpawnThreadInitialPayload");
export const AwaitThreads = shapes.payload<AwaitThreads>("AwaitThreads");
export const AwaitThreadsThread = shapes.part<AwaitThreadsThread>("AwaitThreadsThread");
export const SetTimer = shapes.payload<SetTimer>("SetTimer");
export const CancelTimer = shapes.payload<CancelTimer>("CancelTimer");
export const TodoUntil = shapes.payload<TodoUntil>("TodoUntil");
export const TodoUntilStep = shapes.part<TodoUntilStep>("TodoUntilStep");
export const CancelThread = shapes.payload<CancelThread>("CancelThread");
export const ClearContext = shapes.payload<ClearContext>("ClearContext");
export const Recall = shapes.payload<Recall>("Recall");
export const AskPerson = shapes.payload<AskPerson>("AskPerson");
export const AskPersonShow = shapes.part<AskPersonShow>("AskPersonShow");
export const Steer = shapes.payload<Steer>("Steer");
export const ThreadSpawned = shapes.payload<ThreadSpawned>("ThreadSpawned");
export const ThreadFinished = shapes.payload<ThreadFinished>("ThreadFinished");
export const AwaitOver = shapes.payload<AwaitOver>("AwaitOver");
export const TimerSet = shapes.payload<TimerSet>("TimerSet");
export const TimerFired = shapes.payload<TimerFired>("TimerFired");
export const TimerFinished = shapes.payload<TimerFinished>("TimerFinished");
export const TimerCancelled = shapes.payload<TimerCancelled>("TimerCancelled");
export const ThreadCancelled = shapes.payload<ThreadCancelled>("ThreadCancelled");
export const ContextCleared = shapes.payload<ContextCleared>("ContextCleared");
export const Recalled = shapes.payload<Recalled>("Recalled");
export const RecalledMessage = shapes.part<RecalledMessage>("RecalledMessage");
export const ThreadEnded = shapes.payload<ThreadEnded>("ThreadEnded");
export const SystemThreadError = shapes.payload<SystemThreadError>("SystemThreadError");
export const SystemError = shapes.payload<SystemError>("SystemError");
export const Throttled = shapes.payload<Throttled>("Throttled");
export const Handled = shapes.payload<Handled>("Handled");
export const ChildrenOpen = shapes.payload<ChildrenOpen>("ChildrenOpen");
export const TodoOpen = shapes.payload<TodoOpen>("TodoOpen");
export const BudgetWarning = shapes.payload<BudgetWarning>("BudgetWarning");
export const BudgetExceeded = shapes.payload<BudgetExceeded>("BudgetExceeded");
export const BudgetTime = shapes.payload<BudgetTime>("BudgetTime");
export const FinalReport = shapes.payload<FinalReport>("FinalReport");
export const Attempt = shapes.payload<Attempt>("Attempt");
export const DeadLetter = shapes.payload<DeadLetter>("DeadLetter");
export const ApprovalRequested = shapes.payload<ApprovalRequested>("ApprovalRequested");
export const ApprovalDecided = shapes.payload<ApprovalDecided>("ApprovalDecided");
export const PersonAsked = shapes.payload<PersonAsked>("PersonAsked");
export const PersonAskedShow = shapes.part<PersonAskedShow>("PersonAskedShow");
export const PersonSaid = shapes.payload<PersonSaid>("PersonSaid");
export const Paused = shapes.payload<Paused>("Paused");
export const Resumed = shapes.payload<Resumed>("Resumed");
export const Reopened = shapes.payload<Reopened>("Reopened");
export const Retried = shapes.payload<Retried>("Retried");
export const Boot = shapes.payload<Boot>("Boot");
export const LossAccepted = shapes.payload<LossAccepted>("LossAccepted");
export const Erased = shapes.payload<Erased>("Erased");
export const ErasedRecord = shapes.part<ErasedRecord>("ErasedRecord");
export const ErasedDocument = shapes.part<ErasedDocument>("ErasedDocument");
export const ErasedBody = shapes.payload<ErasedBody>("ErasedBody");
export const Forked = shapes.payload<Forked>("Forked");
export const Subject = shapes.payload<Subject>("Subject");
export const Stuck = shapes.payload<Stuck>("Stuck");
export const Shutdown = shapes.payload<Shutdown>("Shutdown");
export const ListenerJoined = shapes.payload<ListenerJoined>("ListenerJoined");
export const ListenerJoinedFile = shapes.part<ListenerJoinedFile>("ListenerJoinedFile");
export const ListenerLeft = shapes.payload<ListenerLeft>("ListenerLeft");
export const FollowerBegan = shapes.payload<FollowerBegan>("FollowerBegan");
export const FollowerCaughtUp = shapes.payload<FollowerCaughtUp>("FollowerCaughtUp");
export const FollowSkipped = shapes.payload<FollowSkipped>("FollowSkipped");
export const FollowerBehind = shapes.payload<FollowerBehind>("FollowerBehind");
export const FollowerStopped = shapes.payload<FollowerStopped>("FollowerStopped");
export const Reloaded = shapes.payload<Reloaded>("Reloaded");
export const ReloadFailed = shapes.payload<ReloadFailed>("ReloadFailed");
export const ScheduleBegan = shapes.payload<ScheduleBegan>("ScheduleBegan");
export const ScheduleEnded = shapes.payload<ScheduleEnded>("ScheduleEnded");
export const ScheduleFired = shapes.payload<ScheduleFired>("ScheduleFired");
export const ScheduleSkipped = shapes.payload<ScheduleSkipped>("ScheduleSkipped");
export const SchedulePaused = shapes.payload<SchedulePaused>("SchedulePaused");
export const ScheduleResumed = shapes.payload<ScheduleResumed>("ScheduleResumed");
