//! The limits of the doors: how long they wait, how much they take and keep, and how much a page shows.

use std::ops::RangeInclusive;
use std::time::Duration;

pub(crate) use systole_api::limits::{ENTRIES, MOST_ENTRIES, MOST_IDS};
pub(crate) use systole_core::types::limits::{ANSWER_BYTES, EXCERPT_BYTES, LOG_PAGE_FIRST};
pub(crate) use systole_doorway::limits::PAUSE;
pub(crate) use systole_following::limits::{CHATS, LONGEST_WAIT};
pub(crate) use systole_queries::limits::{LINES_AROUND, REQUEST_COLUMNS};

// Connections and bodies

/// Connections that wait for the door to take them; the system may allow fewer.
pub(crate) const BACKLOG: u32 = 4_096;
/// Milliseconds to send a body: a mebibyte over a slow line; no seat is held for ever.
pub(crate) const BODY_MS: u64 = 30_000;
/// Bodies that may be read at once: a mebibyte each is little compared with the pump.
pub(crate) const BODIES: usize = 64;
/// Those of one client.
pub(crate) const OWN_BODIES: usize = 16;
/// Forms that may be read at once: each may have 12 MiB, and its answer more.
pub(crate) const FORMS: usize = 8;
/// Those of one client.
pub(crate) const OWN_FORMS: usize = 2;
/// Bytes of a form: the largest payload, as browsers write it.
pub(crate) const FORM_BYTES: usize = 12 << 20;
/// Fields of a form: more than any schema's form has.
pub(crate) const FORM_FIELDS: usize = 5_000;
/// Tries of an address in use: a killed process may hold its own for a moment longer.
pub(crate) const ADDRESS_TRIES: u32 = 20;
/// How long to wait between them.
pub(crate) const ADDRESS_PAUSE: Duration = Duration::from_millis(100);
/// Bytes of the address of a page, and of one value in it.
pub(crate) const ADDRESS_BYTES: usize = 4096;

// Senders

/// Senders of all clients that may wait at once.
pub(crate) const WAITING_OF_ALL: usize = 50_000;

// Streams

/// Streams of all clients at once.
pub(crate) const STREAMS: usize = 256;
/// Streams of one client at once, and its pages that follow the log: each costs its connection.
pub(crate) const OWN_STREAMS: usize = 64;
/// Those of all that are only for the operator.
pub(crate) const OPERATOR_STREAMS: usize = 8;

// Who signs in

/// Bytes of the body of a stranger: a code or a token, and the address that she wanted.
pub(crate) const SIGN_IN_BYTES: usize = 8 << 10;
/// Milliseconds that a code counts.
pub(crate) const CODE_MS: u64 = 60_000;
/// Codes of one client that count at once; a newer one replaces the oldest.
pub(crate) const CODES: usize = 8;
/// Seconds that a session lasts from its sign-in, if the person stays signed in: 30 days. Its cookie ends then too.
pub(crate) const LONG_SESSION_SECONDS: u64 = 30 * 24 * 60 * 60;
/// The same in milliseconds.
pub(crate) const LONG_SESSION_MS: u64 = LONG_SESSION_SECONDS * 1000;
/// Milliseconds that a session lasts without a request: a day's work.
pub(crate) const SESSION_MS: u64 = 12 * 60 * 60 * 1000;
/// Sessions of all clients; a newer one replaces the one that was idle longest.
pub(crate) const SESSIONS: usize = 256;
/// Sessions of one client.
pub(crate) const OWN_SESSIONS: usize = 32;
/// Bytes of the file of the sessions: a session has less than a kilobyte there.
pub(crate) const SESSIONS_FILE_BYTES: usize = SESSIONS << 10;
/// Milliseconds after which sessions that were used are written again: so much of twelve hours may be lost.
pub(crate) const SESSIONS_WRITTEN_MS: u64 = 10 * 60 * 1000;

// The MCP door

/// How long a call may take before it becomes a task.
pub(crate) const TASK_PATIENCE: Duration = Duration::from_secs(5);
/// The time between two signs that a call goes on: many hosts give up after a minute.
pub(crate) const TASK_SIGN: Duration = Duration::from_secs(10);
/// Milliseconds that a client should wait before it asks again.
pub(crate) const TASK_POLL_MS: u64 = 2000;
/// Messages that may wait for a client's socket; without room, progress is left out.
pub(crate) const TASK_MESSAGES: usize = 16;
/// Bytes of a message of progress.
pub(crate) const PROGRESS_BYTES: usize = 1000;
/// Calls that may wait at once: each costs a task and a page of records.
pub(crate) const OPEN_CALLS: usize = 256;
/// Bytes of the description of a tool.
pub(crate) const TOOL_DESCRIPTION_BYTES: usize = 4096;
/// Characters of what a host says of a form that it did not show.
pub(crate) const HOST_WORDS: usize = 300;
/// Forms of one call that are open at once: the next ones are shown when these are decided.
pub(crate) const CALL_FORMS: usize = 64;
/// Wrong answers to a form, before its call shows it no more.
pub(crate) const FORM_FAULTS: usize = 5;
/// Resources on one page of their list.
pub(crate) const RESOURCES: usize = 100;
/// Tasks of a page, if the client names no number.
pub(crate) const TASKS_OF_PAGE: i64 = 50;
/// Threads of a client whose tasks are listed, those with the newest records: each is read.
pub(crate) const TASK_THREADS: usize = 1_000;
/// Bytes of the text of a thread: a host puts it before its model.
pub(crate) const RESOURCE_BYTES: usize = 256 << 10;
/// Messages in it.
pub(crate) const RESOURCE_TURNS: usize = 200;
/// Characters of the address of a resource that is not there.
pub(crate) const RESOURCE_URI: usize = 300;

// Chats

/// Messages of a chat, whose client sends all of them again with each one.
pub(crate) const CHAT_MESSAGES: usize = 2_000;
/// Bytes of a chat: eight times the largest message.
pub(crate) const CHAT_BYTES: usize = 8 << 20;
/// Chats that may be read and placed at once.
pub(crate) const CHAT_BODIES: usize = 16;
/// Those of one client.
pub(crate) const OWN_CHAT_BODIES: usize = 4;
/// Chats of one client in which the same was said that are looked at, the newest.
pub(crate) const SAME_CHATS: usize = 16;
/// Milliseconds in which the same chat is the same message, if the client says that it repeats it: its libraries wait for
/// ten minutes, three times.
pub(crate) const CHAT_RETRY_MS: u64 = 60 * 60 * 1000;
/// Events of a response that one event of its run may become.
pub(crate) const EVENT_PARTS: u64 = 1 << 6;
/// Events that a record may make, and bytes of open text after them, in the number of an event of a response.
pub(crate) const EVENT_STEPS: u64 = 1 << 22;
/// Requests to a person that end one response of the OpenAI API.
pub(crate) const SHOWN_REQUESTS: usize = 16;
/// Items of a conversation in one answer, and how many without a wish.
pub(crate) const MOST_ITEMS: usize = 100;
pub(crate) const ITEMS: usize = 20;
/// Keys of a request that are named as ignored.
pub(crate) const IGNORED_KEYS: usize = 32;
/// Bytes of such a key.
pub(crate) const IGNORED_KEY_BYTES: usize = 64;
/// Hex digits of a hash that a chat shows.
pub(crate) const SHOWN_HASH: usize = 16;
/// Answers to interrupts in one run.
pub(crate) const ANSWERS: usize = 64;
/// The version of ACP.
pub(crate) const ACP_VERSION: u64 = 1;
/// Digits of the id of a session that are drawn, and those that say whether it was given to this client.
pub(crate) const DRAWN_DIGITS: usize = 24;
pub(crate) const CHECKED_DIGITS: usize = 8;
/// Sessions in editors of which something is remembered.
pub(crate) const EDITOR_SESSIONS: usize = 1024;
/// Messages of a session that an editor is sent when it loads it, the newest.
pub(crate) const REPLAYED_TURNS: usize = 100;
/// Kibibytes of messages that clients of open runs are sent again if something of them is taken back, of all and of one.
pub(crate) const ECHO_KIB: usize = 256 << 10;
pub(crate) const OWN_ECHO_KIB: usize = 64 << 10;
/// Messages of a thread that a client gets at once, the newest.
pub(crate) const SNAPSHOT_MESSAGES: usize = 200;
/// How long a client that reads nothing is waited for. Its run goes on.
pub(crate) const STALLED: Duration = Duration::from_secs(60);

// Reading

/// Bytes of payloads of one part, after which it ends early.
pub(crate) const PART_BYTES: usize = 8 << 20;
/// Readings of the log at once.
pub(crate) const READINGS: usize = 4;
/// Readings of one client at once.
pub(crate) const OWN_READINGS: usize = 2;
/// Records after a refusal that are searched for what was said instead.
pub(crate) const SEARCHED: usize = 256;
/// Records that a page verifies; the command verifies any number.
pub(crate) const VERIFIED: u64 = 1_000_000;
/// Files that are looked at, and listed, for one page.
pub(crate) const PAGE_FILES: usize = 64;
/// Bytes of files after which a page looks at no more: two of the largest.
pub(crate) const PAGE_FILE_BYTES: usize = 16 << 20;
/// Columns of the name or the type of a file, as its sender says them.
pub(crate) const FILE_NAME: usize = 60;
/// Bytes of a file that is exported from a page.
pub(crate) const EXPORT_BYTES: usize = 64 << 20;

// Rows of a page

/// Rows of one page.
pub(crate) const ROWS: usize = 10_000;
/// Rows of one chunk, of which a browser lays out those in sight, and of one answer that follows.
pub(crate) const CHUNK_ROWS: usize = 200;
/// Bytes of all folded payloads of a page.
pub(crate) const BODIES_BYTES: usize = 3_000_000;
/// Rows of a table that is not the page's own: days, pairs, entries of a tree.
pub(crate) const TABLE_ROWS: usize = 400;
/// Spans of the path that are listed.
pub(crate) const SPANS: usize = 500;
/// Starts or requests of one part of a list.
pub(crate) const LISTED: usize = 200;
/// Entries of what needs a person, or was decided lately.
pub(crate) const NEWS: usize = 50;
/// Checkpoints, and messages of an edge, that are listed: the newest ones.
pub(crate) const NEWEST: usize = 20;
/// Links of the chain of causes on the page.
pub(crate) const LINKS: usize = 60;
/// Calls at work whose words are shown: more than a person reads at once.
pub(crate) const SPEAKING: usize = 20;
/// Threads that are named at a running step.
pub(crate) const RUNNING: usize = 5;
/// Equal rows that are shown before a difference; more are folded.
pub(crate) const ROWS_AROUND: usize = 3;
/// Milliseconds that count as lately: an hour.
pub(crate) const LATELY_MS: u64 = 3_600_000;

// Reloads

/// How long deliveries that are out may take before a reload, if no one says it.
pub const RELOAD_DRAIN: Duration = Duration::from_secs(60);
/// The times that can be said.
pub(crate) const RELOAD_DRAINS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3_600);

// Words of a page

/// Characters of a reason, a payload or a message in a list: two lines.
pub(crate) const WORDS: usize = 240;
/// Characters of a reason, or of a record beside another one: some lines.
pub(crate) const LONG_WORDS: usize = 300;
/// Characters of a line of the tree.
pub(crate) const TREE_WORDS: usize = 160;
/// Characters of the reasons of a thread.
pub(crate) const WHY_WORDS: usize = 1_000;
/// Characters of a sentence.
pub(crate) const SENTENCE: usize = 600;
/// Characters of a line of a file, a sentence or a trail.
pub(crate) const LINE: usize = 1_200;
/// Characters of a folded body, and of a command.
pub(crate) const BODY: usize = 4_000;
/// Characters of a prompt's part or a file; the command prints all.
pub(crate) const TEXT: usize = 200_000;
/// Characters of a text to search for.
pub(crate) const SEARCH_TEXT: usize = 200;
/// Characters before a word that was found.
pub(crate) const BEFORE_WORD: usize = 80;
/// Characters after it.
pub(crate) const AFTER_WORD: usize = 200;
/// Digits of the hash in the name of a page's file: enough to tell versions apart.
pub(crate) const VERSION_DIGITS: usize = 16;
