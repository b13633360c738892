//! The limits of the doors: how long they wait, and how much they take and keep.

use std::ops::RangeInclusive;
use std::time::Duration;

pub(crate) use systole_api::limits::MOST_ENTRIES;
pub(crate) use systole_doorway::limits::PAUSE;
pub(crate) use systole_following::limits::{CHATS, LONGEST_WAIT};
pub(crate) use systole_hall::limits::{FILE_NAME, FORMS, RESOURCES, SHOWN_HASH};
pub(crate) use systole_queries::limits::REQUEST_COLUMNS;

// Connections and bodies

/// Connections that wait for the door to take them; the system may allow fewer.
pub(crate) const BACKLOG: u32 = 4_096;
/// Bodies that may be read at once: a mebibyte each is little compared with the pump.
pub(crate) const BODIES: usize = 64;
/// Those of one client.
pub(crate) const OWN_BODIES: usize = 16;
/// Those of one client.
pub(crate) const OWN_FORMS: usize = 2;
/// Tries of an address in use: a killed process may hold its own for a moment longer.
pub(crate) const ADDRESS_TRIES: u32 = 20;
/// How long to wait between them.
pub(crate) const ADDRESS_PAUSE: Duration = Duration::from_millis(100);

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

// Reloads

/// How long deliveries that are out may take before a reload, if no one says it.
pub const RELOAD_DRAIN: Duration = Duration::from_secs(60);
/// The times that can be said.
pub(crate) const RELOAD_DRAINS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3_600);
