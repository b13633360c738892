// Written by `make_client.ts` from `schemas/openapi.json`: do not edit, write it again.
import type * as bodies from "./bodies.ts";

/** What is asked beside the path. */
export interface Query { readonly [name: string]: string | number | boolean | null | undefined }

const place = (text: string): string => encodeURIComponent(text);

// Operations that are no method:
//   sendMessage: `ask`, `send` and `wait` send messages.
//   sendFile: `ask` and `send` send the files of their payloads.
//   followLog: `events` follows the log.
//   decide: `approve`, `reject`, `amend` and `choose` decide, with the hash that was read.
//   mcp: it is for hosts of models, which speak the Model Context Protocol.
//   sessionCode: it is for signing in to the console in a browser.

/** One method for each operation of the HTTP door. */
export abstract class Operations {
  protected abstract call(method: string, path: string, query: Query, body?: unknown): Promise<unknown>;
  protected abstract bytes(method: string, path: string, query: Query): Promise<Uint8Array>;

  /** The running organism. */
  async status(): Promise<bodies.Status> {
    return (await this.call("GET", `/v1/status`, {})) as bodies.Status;
  }

  /** Workers over NATS. */
  async workers(): Promise<bodies.Workers> {
    return (await this.call("GET", `/v1/workers`, {})) as bodies.Workers;
  }

  /** The followers of the log, and how they fare. */
  async followers(): Promise<bodies.Followers> {
    return (await this.call("GET", `/v1/followers`, {})) as bodies.Followers;
  }

  /** What waits for a person. */
  async approvals(query: { readonly at?: number | undefined } = {}): Promise<bodies.Approvals> {
    return (await this.call("GET", `/v1/approvals`, query)) as bodies.Approvals;
  }

  /** What persons decided, and what ran after it. */
  async decisions(query: { readonly since?: string | undefined; readonly until?: string | undefined; readonly before?: string | undefined; readonly limit?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Decisions> {
    return (await this.call("GET", `/v1/decisions`, query)) as bodies.Decisions;
  }

  /** Pause everything. */
  async pauseEverything(query: { readonly note?: string | undefined } = {}): Promise<bodies.PauseChanged> {
    return (await this.call("POST", `/v1/pause`, query)) as bodies.PauseChanged;
  }

  /** Pause a thread and everything below it. */
  async pauseThread(thread: string, query: { readonly note?: string | undefined } = {}): Promise<bodies.PauseChanged> {
    return (await this.call("POST", `/v1/threads/${place(thread)}/pause`, query)) as bodies.PauseChanged;
  }

  /** What a retry of a failed thread would do. */
  async previewRetry(thread: string): Promise<bodies.RetryShown> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/retry`, {})) as bodies.RetryShown;
  }

  /** Let a failed thread go on in its place, or send its request anew. */
  async retryThread(thread: string, body?: bodies.AnewValues, query: { readonly note?: string | undefined; readonly seen?: string | undefined; readonly effects?: boolean | undefined; readonly anew?: "show" | "send" | undefined } = {}): Promise<bodies.ThreadRetried | bodies.Receipt | bodies.AnewShown> {
    return (await this.call("POST", `/v1/threads/${place(thread)}/retry`, query, body)) as bodies.ThreadRetried | bodies.Receipt | bodies.AnewShown;
  }

  /** Let all failed threads go on that a filter fits. */
  async retryThreads(body: bodies.RetryOrder): Promise<bodies.RetriesGiven> {
    return (await this.call("POST", `/v1/retry`, {}, body)) as bodies.RetriesGiven;
  }

  /** Resume everything. */
  async resumeEverything(query: { readonly note?: string | undefined } = {}): Promise<bodies.PauseChanged> {
    return (await this.call("POST", `/v1/resume`, query)) as bodies.PauseChanged;
  }

  /** Resume a thread and everything below it. */
  async resumeThread(thread: string, query: { readonly note?: string | undefined } = {}): Promise<bodies.PauseChanged> {
    return (await this.call("POST", `/v1/threads/${place(thread)}/resume`, query)) as bodies.PauseChanged;
  }

  /** End a thread and everything below it, or one of its top calls. */
  async cancelThread(thread: string, query: { readonly call?: number | undefined } = {}): Promise<bodies.Cancelled> {
    return (await this.call("POST", `/v1/threads/${place(thread)}/cancel`, query)) as bodies.Cancelled;
  }

  /** End a root at rest. */
  async endThread(thread: string): Promise<bodies.Ended> {
    return (await this.call("POST", `/v1/threads/${place(thread)}/end`, {})) as bodies.Ended;
  }

  /** How the organism began, and how the reload went that it began with. */
  async showBeginning(): Promise<bodies.RunBeginning> {
    return (await this.call("GET", `/v1/reload`, {})) as bodies.RunBeginning;
  }

  /** Let the organism go on with another configuration, or show what that would change. */
  async reload(query: { readonly file?: string | undefined; readonly back?: boolean | undefined; readonly drain?: string | undefined; readonly approved?: string | undefined; readonly show?: boolean | undefined } = {}): Promise<bodies.ReloadPreview> {
    return (await this.call("POST", `/v1/reload`, query)) as bodies.ReloadPreview;
  }

  /** Fire no tick of a schedule until it is resumed. */
  async pauseSchedule(schedule: string): Promise<bodies.ScheduleChanged> {
    return (await this.call("POST", `/v1/schedules/${place(schedule)}/pause`, {})) as bodies.ScheduleChanged;
  }

  /** Let a paused schedule go on. */
  async resumeSchedule(schedule: string): Promise<bodies.ScheduleChanged> {
    return (await this.call("POST", `/v1/schedules/${place(schedule)}/resume`, {})) as bodies.ScheduleChanged;
  }

  /** Send what a schedule sends now. */
  async fireSchedule(schedule: string): Promise<bodies.ScheduleChanged> {
    return (await this.call("POST", `/v1/schedules/${place(schedule)}/fire`, {})) as bodies.ScheduleChanged;
  }

  /** End the calls that wait for a listener. */
  async cancelWaiting(listener: string): Promise<bodies.WaitingCancelled> {
    return (await this.call("POST", `/v1/listeners/${place(listener)}/cancel`, {})) as bodies.WaitingCancelled;
  }

  /** The newest threads. */
  async threads(query: { readonly limit?: number | undefined; readonly after?: string | undefined; readonly children?: boolean | undefined; readonly state?: "paused" | "working" | "waiting" | "cancelled" | "failed" | "answered" | "resting" | "ended" | undefined; readonly failed?: boolean | undefined; readonly since?: string | undefined; readonly until?: string | undefined; readonly listener?: string | undefined; readonly client?: string | undefined; readonly name?: string | undefined; readonly code?: string | undefined; readonly q?: string | undefined; readonly sort?: "opened" | "since" | "duration" | "cost" | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Threads> {
    return (await this.call("GET", `/v1/threads`, query)) as bodies.Threads;
  }

  /** A thread and what it waits for. */
  async thread(thread: string, query: { readonly at?: number | undefined } = {}): Promise<bodies.Thread> {
    return (await this.call("GET", `/v1/threads/${place(thread)}`, query)) as bodies.Thread;
  }

  /** The records of a thread. */
  async records(thread: string, query: { readonly from?: number | undefined; readonly limit?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.RecordPage> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/records`, query)) as bodies.RecordPage;
  }

  /** One record. */
  async record(thread: string, seq: string, query: { readonly at?: number | undefined } = {}): Promise<bodies.Record> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/records/${place(seq)}`, query)) as bodies.Record;
  }

  /** The payload of one record, byte for byte. */
  async recordBytes(thread: string, seq: string, query: { readonly at?: number | undefined } = {}): Promise<Uint8Array> {
    return (await this.bytes("GET", `/v1/threads/${place(thread)}/records/${place(seq)}/bytes`, query)) as Uint8Array;
  }

  /** A thread as a tree of calls. */
  async tree(thread: string, query: { readonly at?: number | undefined } = {}): Promise<bodies.Tree> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/tree`, query)) as bodies.Tree;
  }

  /** What a thread waits for. */
  async threadWhy(thread: string, query: { readonly at?: number | undefined } = {}): Promise<bodies.ThreadWhy> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/why`, query)) as bodies.ThreadWhy;
  }

  /** The todo lists of a thread. */
  async todo(thread: string, query: { readonly seq?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Todo> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/todo`, query)) as bodies.Todo;
  }

  /** The prompt of a call to a model. */
  async context(thread: string, query: { readonly seq?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Context> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/context`, query)) as bodies.Context;
  }

  /** The model requests of a thread. */
  async threadCost(thread: string, query: { readonly at?: number | undefined } = {}): Promise<bodies.ThreadCost> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/cost`, query)) as bodies.ThreadCost;
  }

  /** The causes of a record. */
  async trail(thread: string, query: { readonly seq?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Trail> {
    return (await this.call("GET", `/v1/threads/${place(thread)}/trail`, query)) as bodies.Trail;
  }

  /** Everything that waits. */
  async why(query: { readonly at?: number | undefined } = {}): Promise<bodies.Waits> {
    return (await this.call("GET", `/v1/why`, query)) as bodies.Waits;
  }

  /** The model requests of a period. */
  async cost(query: { readonly since?: string | undefined; readonly until?: string | undefined; readonly agent?: string | undefined; readonly model?: string | undefined; readonly client?: string | undefined; readonly by?: "agent" | "model" | "client" | "day" | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Cost> {
    return (await this.call("GET", `/v1/cost`, query)) as bodies.Cost;
  }

  /** What is sent at which times. */
  async schedules(query: { readonly schedule?: string | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Schedules> {
    return (await this.call("GET", `/v1/schedules`, query)) as bodies.Schedules;
  }

  /** What took long, by listener or model. */
  async slow(query: { readonly by?: "listener" | "model" | undefined; readonly since?: string | undefined; readonly until?: string | undefined; readonly listener?: string | undefined; readonly model?: string | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Slow> {
    return (await this.call("GET", `/v1/slow`, query)) as bodies.Slow;
  }

  /** Messages by words and fields. */
  async find(query: { readonly q?: string | undefined; readonly element?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined; readonly code?: string | undefined; readonly kind?: string | undefined; readonly client?: string | undefined; readonly person?: string | undefined; readonly since?: string | undefined; readonly until?: string | undefined; readonly thread?: string | undefined; readonly before?: number | undefined; readonly limit?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.Hits> {
    return (await this.call("GET", `/v1/find`, query)) as bodies.Hits;
  }

  /** Every configuration that was used. */
  async configurations(query: { readonly at?: number | undefined } = {}): Promise<bodies.Configurations> {
    return (await this.call("GET", `/v1/configurations`, query)) as bodies.Configurations;
  }

  /** One configuration. */
  async configuration(hash: string, query: { readonly at?: number | undefined } = {}): Promise<bodies.Configuration> {
    return (await this.call("GET", `/v1/configurations/${place(hash)}`, query)) as bodies.Configuration;
  }

  /** A stored document, byte for byte. */
  async document(hash: string, query: { readonly at?: number | undefined } = {}): Promise<Uint8Array> {
    return (await this.bytes("GET", `/v1/documents/${place(hash)}`, query)) as Uint8Array;
  }

  /** Who may address whom. */
  async graph(query: { readonly at?: number | undefined } = {}): Promise<bodies.Graph> {
    return (await this.call("GET", `/v1/graph`, query)) as bodies.Graph;
  }

  /** The last position, and the states of the threads that are at work. */
  async logOpening(query: { readonly at?: number | undefined } = {}): Promise<bodies.LogOpening> {
    return (await this.call("GET", `/v1/log`, query)) as bodies.LogOpening;
  }

  /** Ids of threads, newest first, or those that begin with a text. */
  async logThreads(query: { readonly like?: string | undefined; readonly limit?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.ThreadIds> {
    return (await this.call("GET", `/v1/log/threads`, query)) as bodies.ThreadIds;
  }

  /** Records with everything that their hashes cover. */
  async logRecords(query: { readonly thread?: string | undefined; readonly from?: number | undefined; readonly after?: number | undefined; readonly limit?: number | undefined; readonly at?: number | undefined } = {}): Promise<bodies.StoredRecords> {
    return (await this.call("GET", `/v1/log/records`, query)) as bodies.StoredRecords;
  }

  /** This description. */
  async description(): Promise<{ readonly [name: string]: unknown }> {
    return (await this.call("GET", `/v1/openapi.json`, {})) as { readonly [name: string]: unknown };
  }
}
