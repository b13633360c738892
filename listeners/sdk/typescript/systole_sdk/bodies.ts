// Written by `make_client.ts` from `schemas/openapi.json`: do not edit, write it again.
/** The bodies of the HTTP door. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly element?: string;
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
  readonly expected?: string;
  readonly received?: string;
  readonly schema?: string;
  readonly try?: string;
  readonly retry_allowed: boolean;
  readonly hash?: string;
  readonly told: string;
}

export interface FileStored {
  readonly sha256: string;
  readonly type: string;
  readonly bytes: number;
}

export interface Receipt {
  readonly id: string;
  readonly thread: string;
  readonly seq: number;
  readonly position: number;
  readonly call: string;
  readonly sender: string;
  readonly claimed?: string;
  readonly key: string;
  readonly repeated: boolean;
}

export interface Outcome {
  readonly outcome: "answered" | "partial" | "reported" | "handled" | "failed" | "open";
  readonly code?: string;
  readonly thread: string;
  readonly call: string;
  readonly position?: number;
  readonly payload?: string;
}

export interface AnsweredReceipt {
  readonly id: string;
  readonly thread: string;
  readonly seq: number;
  readonly position: number;
  readonly call: string;
  readonly sender: string;
  readonly claimed?: string;
  readonly key: string;
  readonly repeated: boolean;
  readonly result: Outcome;
}

export interface Record {
  readonly position: number;
  readonly thread: string;
  readonly seq: number;
  readonly id: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string | null;
  readonly call: string | null;
  readonly turn: number | null;
  readonly ordinal: number | null;
  readonly cause: string | null;
  readonly key: string | null;
  readonly origin: string | null;
  readonly time: string;
  readonly config: string;
  readonly code: string | null;
  readonly head: string;
  readonly body: string;
}

export interface Spoken {
  readonly listener: string;
  readonly thread: string;
  readonly call: string;
  readonly words: string;
  readonly whole: boolean;
  readonly turn: number;
  readonly attempt: number;
}

export interface Status {
  readonly organism: string;
  readonly pid: number;
  readonly config: string;
  readonly position: number;
  readonly version: string;
  readonly alarms?: readonly Alarm[];
  readonly roles: readonly ("read" | "operate" | "approve" | "answer" | "approve-own")[];
  readonly client?: string;
}

export interface Alarm {
  readonly words: string;
  readonly try: string;
  readonly since: string;
  readonly until: string | null;
  readonly follower?: string;
}

export interface Workers {
  readonly workers: { readonly [name: string]: number };
}

export interface Followers {
  readonly followers: readonly Follower[];
}

export interface Follower {
  readonly name: string;
  readonly to: string;
  readonly on: readonly string[];
  readonly state: "follows" | "behind" | "stopped" | "waits";
  readonly position: number | null;
  readonly behind: number | null;
  readonly error: string | null;
  readonly since: string | null;
}

export interface Cancelled {
  readonly cancelled: string;
  readonly call?: number;
}

export interface WaitingCancelled {
  readonly to: string;
  readonly cancelled: number;
}

export interface Ended {
  readonly ended: string;
}

export interface Pause {
  readonly thread: string | null;
  readonly by: string;
  readonly since: string;
  readonly note: string | null;
}

export interface AnewShown {
  readonly thread: string;
  readonly seen: string;
  readonly call: string;
  readonly listener: string;
  readonly code: string;
  readonly request: string;
  readonly changed: boolean;
  readonly tokens: number;
  readonly money: string | null;
  readonly effects: readonly string[];
  readonly sent: readonly string[];
  readonly key: string;
}

export type AnewValues = readonly string[];

export interface RetryShown {
  readonly thread: string;
  readonly seen: string;
  readonly seq: number;
  readonly position: number;
  readonly call: string;
  readonly listener: string;
  readonly turn: number;
  readonly retries: number;
  readonly code: string;
  readonly workflow: boolean;
  readonly keeps_steps: boolean;
  readonly starts: readonly ({
    readonly key: string;
    readonly thread: string | null;
    readonly cancelled: boolean;
    readonly tokens: number;
    readonly money: string | null;
  })[];
  readonly effects: readonly string[];
}

export interface RetryOrder {
  readonly filter?: {
    readonly since?: string;
    readonly until?: string;
    readonly listener?: string;
    readonly client?: string;
    readonly name?: string;
    readonly code?: string;
    readonly q?: string;
    readonly after?: string;
  };
  readonly at: number;
  readonly note?: string;
  readonly effects?: boolean;
}

export interface RetriesGiven {
  readonly retried: readonly string[];
  readonly refused: readonly ({
    readonly thread: string;
    readonly refusal: Refusal;
  })[];
  readonly next: string | null;
}

export interface ThreadRetried {
  readonly retried: string;
}

export interface PauseChanged {
  readonly thread: string | null;
  readonly paused: boolean;
  readonly held?: Pause;
}

export interface Decision {
  readonly outcome: "approved" | "rejected" | "amended" | "chosen";
  readonly note?: string | null;
  readonly hash?: string | null;
  readonly payload?: string | null;
  readonly choice?: string | null;
}

export interface Decided {
  readonly approval: string;
  readonly outcome: "approved" | "rejected" | "amended" | "chosen";
  readonly choice?: string;
}

export interface OutsideMessage {
  readonly by: string;
  readonly thread: string;
  readonly seq: number;
  readonly at: string;
  readonly payload: string;
}

export interface ShownMessage {
  readonly seq: number;
  readonly label: string;
  readonly from: string;
  readonly hash: string;
  readonly payload: string;
  readonly changes: readonly StepChange[];
}

export interface StepChange {
  readonly workspace: string;
  readonly thread: string;
  readonly seq: number;
  readonly outcome: string;
  readonly payload: string;
}

export interface Approval {
  readonly kind: "approval";
  readonly id: string;
  readonly thread: string;
  readonly call: string;
  readonly caller: string;
  readonly listener: string;
  readonly config: string;
  readonly hash: string;
  readonly asked: string;
  readonly expires: string;
  readonly request: OutsideMessage | null;
  readonly unanswered: string | null;
  readonly may: readonly string[];
  readonly element: string;
  readonly payload: string;
  readonly unknown: string | null;
}

export interface Question {
  readonly kind: "question";
  readonly id: string;
  readonly thread: string;
  readonly call: string;
  readonly caller: string;
  readonly listener: string;
  readonly config: string;
  readonly hash: string;
  readonly asked: string;
  readonly expires: string;
  readonly request: OutsideMessage | null;
  readonly unanswered: string | null;
  readonly may: readonly string[];
  readonly question: string;
  readonly shows: readonly ShownMessage[];
  readonly choices: readonly string[];
}

export interface Approvals {
  readonly approvals: readonly (Approval | Question)[];
}

export interface Decisions {
  readonly decisions: readonly MadeDecision[];
  readonly next: string | null;
}

export interface MadeDecision {
  readonly id: string;
  readonly kind: "approval" | "question";
  readonly thread: string;
  readonly call: string;
  readonly caller: string;
  readonly listener: string;
  readonly about: string;
  readonly payload: string;
  readonly hash: string;
  readonly record: number;
  readonly sent: string | null;
  readonly unknown: string | null;
  readonly asked: string;
  readonly at: string;
  readonly by: string | null;
  readonly outcome: "approved" | "amended" | "rejected" | "expired" | "chosen";
  readonly choice: string | null;
  readonly note: string | null;
  readonly seq: number;
  readonly ran: RanCall | null;
}

export interface RanCall {
  readonly listener: string;
  readonly state: "answered" | "handled" | "failed" | "open" | "ended";
  readonly what: string | null;
  readonly at: string | null;
  readonly seq: number | null;
}

export interface Goal {
  readonly workflow: string;
  readonly step: string;
  readonly item: number | null;
  readonly loop: string | null;
  readonly pass: number | null;
  readonly agent: string | null;
  readonly sentence: string | null;
}

export interface StepProgress {
  readonly step: string;
  readonly loop: string | null;
  readonly pass: number | null;
  readonly done: number;
  readonly failed: number;
  readonly running: number;
  readonly of: number | null;
}

export interface Used {
  readonly messages: number;
  readonly children: number;
  readonly tokens: number;
  readonly money: string | null;
}

export interface ThreadEntry {
  readonly thread: string;
  readonly state: "paused" | "working" | "waiting" | "cancelled" | "failed" | "answered";
  readonly life: "working" | "resting" | "ended";
  readonly failed: FirstCause | null;
  readonly paused: Pause | null;
  readonly since: string;
  readonly words: string;
  readonly goal: Goal | null;
  readonly steps: readonly StepProgress[];
  readonly refusals: number;
  readonly more_refusals: boolean;
  readonly used: Used;
  readonly opened?: string;
  readonly by?: string;
  readonly to?: string;
  readonly element?: string;
  readonly subject?: string;
  readonly name?: string | null;
  readonly code?: string | null;
  readonly first_code?: string | null;
  readonly took_ms?: number;
  readonly retries?: number;
  readonly cost?: CostRow;
  readonly records?: number;
  readonly children?: readonly string[];
}

export interface Threads {
  readonly running: number | null;
  readonly paused: Pause | null;
  readonly threads: readonly ThreadEntry[];
  readonly next: string | null;
  readonly index: IndexEnd | null;
}

export interface IndexEnd {
  readonly position: number;
  readonly leaf: string;
}

export interface ReloadPreview {
  readonly config: string;
  readonly before: string;
  readonly reload: readonly string[];
  readonly restart: readonly string[];
}

export interface RunBeginning {
  readonly began: number;
  readonly config: string;
  readonly reloaded: {
    readonly before: string;
    readonly by: string;
    readonly back: boolean;
  };
  readonly failed: {
    readonly config: string;
    readonly by: string;
    readonly message: string;
  };
}

export interface ScheduleChanged {
  readonly schedule: string;
  readonly change: "paused" | "resumed" | "fired";
  readonly thread: string | null;
}

export interface Schedules {
  readonly schedules: readonly ({
    readonly name: string;
    readonly rule: string;
    readonly state: "waits" | "paused" | "ended";
    readonly paused: string | null;
    readonly next: string | null;
    readonly fired: string | null;
    readonly thread: string | null;
  })[];
}

export interface Slow {
  readonly by: "listener" | "model";
  readonly rows: readonly ({
    readonly name: string;
    readonly count: number;
    readonly failures: number;
    readonly unknown: number;
    readonly mean_ms: number;
    readonly longest_ms: number;
  })[];
  readonly slowest: readonly ({
    readonly listener: string;
    readonly model: string | null;
    readonly took_ms: number;
    readonly outcome: string;
    readonly thread: string;
    readonly seq: number;
  })[];
  readonly index: IndexEnd | null;
}

export interface FailedAttempt {
  readonly at: string;
  readonly code: string | null;
  readonly words: string;
}

export interface FirstCause {
  readonly code: string;
  readonly words: string;
  readonly places: readonly ({
    readonly code: string;
    readonly name: string | null;
  })[];
}

export interface WaitReason {
  readonly thread: string;
  readonly call: string;
  readonly listener: string;
  readonly turn: number;
  readonly cause: string;
  readonly since: string;
  readonly words: string;
  readonly goal: Goal | null;
  readonly steps: readonly StepProgress[];
  readonly ends: string | null;
  readonly attempt: number;
  readonly attempts: number;
  readonly program: readonly string[] | null;
  readonly failures: readonly FailedAttempt[];
  readonly log_from: number;
  readonly below: readonly WaitReason[];
}

export interface ThreadWhy {
  readonly thread: string;
  readonly state: "paused" | "working" | "waiting" | "cancelled" | "failed" | "answered";
  readonly life: "working" | "resting" | "ended";
  readonly paused: Pause | null;
  readonly running: number | null;
  readonly touched: string;
  readonly waits: boolean;
  readonly anew: {
    readonly from: string | null;
    readonly as: readonly string[];
  };
  readonly timers: readonly ({
    readonly id: string;
    readonly listener: string;
    readonly due: string;
  })[];
  readonly models: readonly ({
    readonly call: string;
    readonly tokens: number;
    readonly tokens_limit: number | null;
    readonly money: string | null;
    readonly money_limit: string | null;
  })[];
  readonly times: readonly ({
    readonly call: string;
    readonly runs: boolean;
    readonly used_ms: number;
    readonly limit_ms: number;
  })[];
  readonly failed: FirstCause | null;
  readonly reasons: readonly WaitReason[];
}

export interface Thread {
  readonly thread: string;
  readonly state: "paused" | "working" | "waiting" | "cancelled" | "failed" | "answered";
  readonly life: "working" | "resting" | "ended";
  readonly failed: FirstCause | null;
  readonly paused: Pause | null;
  readonly since: string;
  readonly words: string;
  readonly goal: Goal | null;
  readonly steps: readonly StepProgress[];
  readonly refusals: number;
  readonly more_refusals: boolean;
  readonly used: Used;
  readonly records: number;
  readonly why: ThreadWhy;
}

export interface Wait {
  readonly thread: string;
  readonly since: string;
  readonly waited_ms: number;
  readonly cause: string;
  readonly words: string;
  readonly goal: Goal | null;
  readonly command: string;
}

export interface Waits {
  readonly running: number | null;
  readonly paused: Pause | null;
  readonly waits: readonly Wait[];
}

export interface LogOpening {
  readonly last: number;
  readonly rows: readonly ThreadRow[];
}

export interface ThreadRow {
  readonly thread: string;
  readonly seq: number;
  readonly state: string;
}

export interface ThreadIds {
  readonly threads: readonly string[];
}

export interface StoredRecords {
  readonly records: readonly StoredRecord[];
  readonly next: number | null;
}

export interface StoredRecord {
  readonly position: number;
  readonly thread: string;
  readonly seq: number;
  readonly id: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string | null;
  readonly call: string | null;
  readonly turn: number | null;
  readonly ordinal: number | null;
  readonly cause: string | null;
  readonly key: string | null;
  readonly origin: string | null;
  readonly time: string;
  readonly config: string;
  readonly code: string | null;
  readonly length: number;
  readonly holes: string;
  readonly parts: readonly StoredPart[];
  readonly head: string;
}

export interface StoredPart {
  readonly c: string;
  readonly salt?: string;
  readonly text?: string;
  readonly hex?: string;
}

export interface RecordPage {
  readonly thread: string;
  readonly records: readonly Record[];
  readonly next: number | null;
}

export interface TreeEnd {
  readonly at: string;
  readonly by: string;
}

export interface TreeThread {
  readonly thread: string;
  readonly opened: string;
  readonly records: number;
  readonly calls: readonly TreeCall[];
  readonly cancelled: TreeEnd | null;
  readonly ended: TreeEnd | null;
  readonly cut: boolean;
}

export interface Tree {
  readonly thread: string;
  readonly opened: string;
  readonly records: number;
  readonly calls: readonly TreeCall[];
  readonly cancelled: TreeEnd | null;
  readonly ended: TreeEnd | null;
  readonly cut: boolean;
  readonly state: "paused" | "working" | "waiting" | "cancelled" | "failed" | "answered";
  readonly life: "working" | "resting" | "ended";
  readonly paused: Pause | null;
  readonly picture: RunPicture | null;
}

export interface RunPicture {
  readonly thread: string;
  readonly call: string;
  readonly kind: "workflow" | "agent";
  readonly name: string;
  readonly state: string;
  readonly started: string;
  readonly ended: string | null;
  readonly used: CostRow;
  readonly steps: readonly PictureStep[];
}

export interface PictureStep {
  readonly step: string;
  readonly kind: string;
  readonly state: string;
  readonly who: readonly string[];
  readonly pass: number | null;
  readonly at_most: number | null;
  readonly items: {
    readonly done: number;
    readonly failed: number;
    readonly running: number;
    readonly of: number | null;
  };
  readonly tries: number | null;
  readonly started: string | null;
  readonly ended: string | null;
  readonly used: CostRow;
  readonly output: string | null;
  readonly thread: string | null;
  readonly seq: number | null;
  readonly steps: readonly PictureStep[];
}

export interface TreeCall {
  readonly call: string;
  readonly listener: string;
  readonly caller: string;
  readonly element: string;
  readonly fields: string;
  readonly seq: number;
  readonly opened: string;
  readonly state: "answered" | "handled" | "failed" | "cancelled" | "open";
  readonly detail: string | null;
  readonly ended: string | null;
  readonly turns: number;
  readonly retries: number;
  readonly wrap_up: string | null;
  readonly approval: string | null;
  readonly items: readonly TreeItem[];
}

export type TreeItem = TreeCall | TreeThread | {
  readonly item: string;
  readonly note: string;
} | {
  readonly item: string;
  readonly refused: string;
  readonly message: string;
} | {
  readonly item: string;
  readonly steered: boolean;
} | {
  readonly item: string;
  readonly gather: "all" | "first";
  readonly calls: readonly TreeCall[];
} | {
  readonly item: string;
};

export interface Todo {
  readonly thread: string;
  readonly seq: number;
  readonly calls: readonly ({
    readonly call: string;
    readonly listener: string;
    readonly lists: readonly ({
      readonly seq: number;
      readonly condition: string | null;
      readonly steps: readonly ({
        readonly done: boolean;
        readonly text: string;
      })[];
    })[];
  })[];
}

export interface Context {
  readonly thread: string;
  readonly seq: number;
  readonly listener: string;
  readonly model: string;
  readonly turn: number | null;
  readonly config: string | null;
  readonly running: string | null;
  readonly prompt: string;
  readonly links: readonly ({
    readonly system: string;
    readonly tools: readonly ({ readonly [name: string]: unknown })[];
  } | {
    readonly messages: readonly ({ readonly [name: string]: unknown })[];
  } | {
    readonly header: string;
  })[];
}

export interface CostRow {
  readonly requests: number;
  readonly unknown: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly money: readonly string[];
  readonly uncounted: number;
  readonly unpriced: number;
}

export interface ThreadCost {
  readonly thread: string | null;
  readonly rows: readonly ({
    readonly listener: string;
    readonly model: string;
    readonly used: CostRow;
  })[];
  readonly all: CostRow;
}

export interface Cost {
  readonly by: "agent" | "model" | "client" | "day";
  readonly rows: readonly ({
    readonly value: string;
    readonly used: CostRow;
  })[];
  readonly all: CostRow;
}

export interface TrailLink {
  readonly place: string;
  readonly why: string;
  readonly because: string | null;
  readonly of: {
    readonly call: string | null;
    readonly turn: number | null;
    readonly attempt: number | null;
    readonly after: string | null;
  };
  readonly shown: readonly string[];
  readonly models: readonly ({
    readonly model: string;
    readonly start: string;
    readonly result: string | null;
    readonly stop: string | null;
    readonly tokens: number | null;
    readonly money: string | null;
  })[];
  readonly door: {
    readonly client: string;
    readonly key: string | null;
    readonly roles: readonly string[] | null;
  } | null;
  readonly record: Record;
}

export interface Trail {
  readonly cut: boolean;
  readonly links: readonly TrailLink[];
}

export interface Hits {
  readonly hits: readonly ({
    readonly record: Record;
    readonly text: string;
    readonly match: readonly number[] | null;
  })[];
  readonly next: number | null;
}

export interface Configurations {
  readonly running: string;
  readonly configurations: readonly ({
    readonly hash: string;
    readonly first: {
      readonly position: number;
      readonly time: string;
    };
    readonly last: {
      readonly position: number;
      readonly time: string;
    };
  })[];
}

export interface Configuration {
  readonly hash: string;
  readonly source: string;
  readonly unread: string | null;
}

export interface Graph {
  readonly organism: string;
  readonly entry?: string;
  readonly listeners: readonly GraphNode[];
}

export interface SignInCode {
  readonly code: string;
  readonly client: string;
}

export interface GraphNode {
  readonly name: string;
  readonly from_outside: readonly string[];
  readonly takes: readonly string[];
  readonly answers: readonly string[];
  readonly peers: readonly string[];
  readonly approval: readonly string[];
  readonly approval_if_marked: readonly string[];
  readonly workflow?: boolean;
  readonly depth?: number;
}
