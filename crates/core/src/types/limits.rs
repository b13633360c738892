//! All built-in limits, in one place, with the relations between them.

/// Longest name of a party, in bytes.
pub const NAME_BYTES: usize = 63;
/// Longest idempotency key, in bytes.
pub const KEY_BYTES: usize = 128;
/// Longest name of a thread, and longest key of a message to a named one, in bytes.
pub const THREAD_NAME_BYTES: usize = 62;
/// Longest subject of a thread, in characters.
pub const SUBJECT_CHARACTERS: usize = 200;
/// Longest thread id, in bytes: a root and a few dozen labels.
pub const THREAD_ID_BYTES: usize = 2_240;
/// Largest accepted message, in bytes.
pub const MESSAGE_BYTES: usize = 1 << 20;
/// Most items in one reply.
pub const REPLY_ITEMS: usize = 64;
/// Largest body that is stored inside its record, in bytes. A longer one is stored once under its hash.
pub const LARGE_BODY: usize = 64 << 10;
/// The largest count of a rate. Above that the time between two would be less than a microsecond.
pub const RATE_COUNT: u32 = 100_000;
/// Microseconds in a second. Rates count in them.
pub(crate) const SECOND_US: u64 = 1_000_000;
/// Microseconds in a millisecond.
pub(crate) const MS_US: u64 = 1_000;
/// Milliseconds in a second.
pub const SECOND_MS: u64 = 1_000;
/// Notices of one turn that are kept for the next one.
pub const NOTICES: usize = 64;
/// Questions that one delivery may ask.
pub const ASKS: usize = 64;
/// Journal entries that one delivery may make.
pub const JOURNAL: usize = 64;
/// Most records of a log on one page, if the whole log is read. For each page the reader looks up the last head of every
/// thread in it, so larger pages are faster; but a page of the largest bodies has to fit into memory.
pub const LOG_PAGE: usize = 256;
/// Records on the first page, and on each page of one thread, where larger ones gain nothing.
pub const LOG_PAGE_FIRST: usize = 64;
/// Bytes of the bodies on one page up to which the next page has twice as many records. Otherwise it has half as many.
pub const LOG_PAGE_BYTES: usize = 4 << 20;
/// Messages from elsewhere that may wait for the next turn of one call.
pub const STEERS: usize = 64;
/// Top calls that may wait behind the open one of a root.
pub const QUEUED_TOP_CALLS: usize = 16;
/// Most turns that a file may allow a call to a listener. The data kept for a call does not grow with its turns.
pub const TURNS: u32 = 1_000_000;
/// Most turns that a file may allow an agent, which may pay for each turn.
pub const AGENT_TURNS: u32 = 1_000;
/// Deepest nesting of calls and spawns, counted together. The file cannot raise it.
pub const DEPTH: usize = 64;
/// The same for calls that began under a configuration from before there was a limit of requests.
pub const EARLIER_DEPTH: usize = 16;
/// Children of one call that may be open at once. Every decision about the call may look at all of them, and they are
/// stored in its thread's row.
pub const OPEN_CHILDREN: usize = 1_000;
/// Most messages that a file may allow one message from outside. The use is counted, not stored.
pub const BUDGET_MESSAGES: u32 = 1_000_000;
/// Most child threads that a file may allow one message from outside, over its whole life. The use of the tree is
/// summed over the running children. After a turn has shown the end of a child, that child is only counted.
pub const BUDGET_CHILDREN: u32 = 10_000;
/// Most requests to models of one message from outside, if the file does not say it.
pub const REQUESTS: u32 = 300;
/// Most requests to models that a file may allow one message from outside.
pub const BUDGET_REQUESTS: u32 = 1_000_000;
/// Most tokens that a file may allow one message from outside.
pub const BUDGET_TOKENS: u64 = 1_000_000_000_000;
/// The most that a file may allow one message from outside to cost, in millionths of the currency's unit.
pub const BUDGET_MICROS: u64 = 1_000_000 * 1_000_000;
/// The share of a budget that triggers its warning, in percent.
pub const WARNING_PERCENT: u64 = 80;
/// Characters of messages that one `<recalled>` shows: a fair share of a model's turn. 64 of them fit into memory
/// many times over, even with the longest escapes.
pub const RECALL_CHARACTERS: u64 = 32_768;
/// Bytes of messages, or of a document, on one page of an answer to a question. The rest comes with the next question;
/// a larger message gets its own page.
pub const ANSWER_BYTES: usize = 256 << 10;
/// Bytes of a file that a client sends.
pub const FILE_BYTES: usize = systole_wire::limits::FILE_BYTES;
/// Files of one message. A reader asks for each in parts, and this is also the most parts.
pub const MESSAGE_FILES: usize = FILE_BYTES / ANSWER_BYTES;
/// Todo lists with different conditions that one call may have. They are stored in its thread's row.
pub const TODO_LISTS: usize = 32;
/// Timers of one thread that may be set at once. They are stored in its row.
pub const TIMERS: usize = 32;
/// Characters of a timer's note that are repeated in the outcome of the call it opens. While that call is open, they
/// are stored in its thread's row.
pub const TIMER_NOTE_CHARACTERS: usize = 1_000;
/// Shortest time until a timer fires, and that a question to a person waits.
pub const WAIT_LEAST_MS: u64 = 1_000;
/// Longest time until a timer fires: ten years.
pub const TIMER_MOST_MS: u64 = 3_650 * 86_400_000;
/// Deliveries of one turn that may be lost because the pump died, before the turn becomes a dead letter. The limit is
/// higher only for a listener that allows more attempts.
pub const LOST_WITH_PUMP: u32 = 5;
/// How long a call waits for someone who is away, unless the file says otherwise: a long weekend.
pub const OUTAGE_MS: u64 = 3 * 86_400_000;
/// Milliseconds that work may wait, for other than a person or a timer, before the log says so.
pub const STUCK_MS: u64 = 3_600_000;
/// Calls of one client that may wait for one listener, if the file says nothing else.
pub const QUEUE_CALLS: u32 = 10_000;
/// The most that a file may allow: each waits in memory.
pub const QUEUE_CALLS_MOST: u32 = 1_000_000;
/// Seconds after which a client may try again to put a message into a full queue.
pub(crate) const QUEUE_FULL_S: u32 = 10;
/// The longest time that a question to a person waits, or a call for someone who is away: one year.
pub const WAIT_MOST_MS: u64 = 365 * 86_400_000;
/// The outage of a call whose listener's program cannot be started.
pub const PROGRAM_AWAY: &str = "program";
/// The outage of a call whose listener is not part of the running organism.
pub const LISTENER_AWAY: &str = "listener";
/// The outage of a call whose listener is there, and does not take the element of its request.
pub const ELEMENT_AWAY: &str = "element";
/// The beginning of an agent's word for a model that is away.
pub const MODEL_AWAY: &str = "model.";
/// The pause before a call that waits is tried again, and the longest such pause.
pub const TRIAL_LEAST_MS: u64 = 5_000;
/// See `TRIAL_LEAST_MS`.
pub const TRIAL_MOST_MS: u64 = 300_000;
/// How many calls that waited go on when one is answered. Each further answer lets twice as many go on.
pub const GO_ON_AT_ONCE: usize = 8;
/// How often one call is tried again before another one is.
pub const TRIALS_IN_A_ROW: u32 = 3;
/// Whether only the pump says that this is away.
pub fn is_own_outage(outage: &str) -> bool {
    matches!(outage, PROGRAM_AWAY | ELEMENT_AWAY) || is_with_broker(outage) || is_queued(outage)
}

/// Whether a call that waits for that is in the queue of its listener, and goes on as soon as it has a slot.
pub fn is_queued(outage: &str) -> bool {
    matches!(outage, LISTENER_AWAY | BEHIND_WORKER | BEHIND_BROKER)
}

/// Whether a call that waits for that has its delivery with the broker, or on the way there.
pub fn is_with_broker(outage: &str) -> bool {
    matches!(outage, WORKER_AWAY | BROKER_AWAY)
}

/// The outage of a call whose delivery no worker takes.
pub const WORKER_AWAY: &str = "worker";
/// The outage of a call while the broker cannot be reached.
pub const BROKER_AWAY: &str = "broker";
/// The outage of a call that queues behind deliveries that no worker takes.
pub const BEHIND_WORKER: &str = "worker-queue";
/// The outage of a call that queues behind deliveries that cannot be brought to the broker.
pub const BEHIND_BROKER: &str = "broker-queue";
/// How long after its hand-over the broker certainly knows whether it had a delivery. It remembers for ten minutes.
pub const BROKER_REMEMBERS_MS: u64 = 9 * 60_000;
/// Bytes of a refused message from outside that are stored with its hash.
pub const EXCERPT_BYTES: usize = 1024;
/// Bytes of a program's last output that are stored with its failure.
pub const LAST_WORDS_BYTES: usize = 2048;
/// Bytes of a listener's own code for a failure or feedback. The core's schema allows no longer one.
pub const OWN_CODE_BYTES: usize = 128;
/// Bytes of a listener's message about its own failure or feedback: some pages. It travels in a core payload, which
/// has no other limit.
pub const OWN_WORDS_BYTES: usize = 16 << 10;
/// Bytes of a question to a person, and of the person's note: some pages. The caller sees the note.
pub const PERSON_TEXT_BYTES: usize = 4 << 10;
/// Messages that one question may show, and choices that it may have. They are stored in its thread's row.
pub const QUESTION_ENTRIES: usize = 16;
/// Characters of a choice: a word that a person can type.
pub const CHOICE_CHARACTERS: usize = 64;
/// Characters of the label of a message that a question shows: one line.
pub const LABEL_CHARACTERS: usize = 200;
/// Largest organism file and largest schema, in bytes.
pub const CONFIG_FILE_BYTES: usize = 1 << 20;
/// Deepest nesting of an organism file. The file's own keys need five levels. Each level of a workflow's steps needs
/// three: the list, the entry and the step. So 64 levels of steps fit.
pub const CONFIG_DEPTH: usize = 208;
/// Most entries in any list or map of an organism file, and therefore most listeners.
pub const CONFIG_ENTRIES: usize = 1024;
/// Replies with a receipt that are remembered, so that repeats are recognized.
pub const REPLIES: usize = 65_536;
/// Records that a start reads to find the newest of these replies.
pub const REPLIES_READ: u64 = 4096;
/// Bytes of bodies among these records. After that many, the start stops reading back.
pub const REPLIES_READ_BYTES: usize = 8 << 20;
/// Fewest records between two checkpoints of the fold.
pub const CHECKPOINT_RECORDS: usize = 4096;
/// Fewest rows that a commit takes of a checkpoint.
pub const CHECKPOINT_ROWS: usize = 64;
/// Most commits of a checkpoint.
pub const CHECKPOINT_COMMITS: usize = 64;
/// Records for each row that a checkpoint writes, when many threads are working.
pub const RECORDS_PER_ROW: usize = 8;
/// Most records between two checkpoints, and therefore most records to fold when a log opens.
pub const RECORDS_TO_FOLD: usize = 16_384;

// Inside the pump

/// Refusals that a full bucket holds.
pub const REFUSALS_AT_ONCE: u64 = 20;
/// Milliseconds in which a bucket regains one refusal.
pub const REFUSAL_EVERY_MS: u64 = 1_000;
/// Milliseconds until the log is asked again after it could not be read.
pub const LOG_PAUSE_MS: u64 = 10_000;
/// Milliseconds after its moment at which the tick of a schedule counts as missed.
pub const TICK_LATE_MS: u64 = 60_000;
/// Milliseconds in which refusals are counted before the count is reported.
pub const REFUSALS_TOLD_MS: u64 = 10_000;
/// Threads of one sender whose refusals are counted separately; the rest is counted for `sys`.
pub const REFUSAL_PLACES: usize = 16;
/// Bytes that wait for the writer; then nothing more is taken in: a flood, or a full disk.
pub const WAITING_BYTES: usize = 64 << 20;
/// Bytes of records that are kept in memory for deliveries.
pub const FRESH_BYTES: usize = WAITING_BYTES / 2;
/// Bytes that a record without its body counts for.
pub const RECORD_BYTES: usize = 512;
/// Milliseconds until a delivery that its carrier could not begin is handed over again.
pub const NOT_NOW_MS: u64 = 1_000;
/// Keys kept of a thread: no more can be between a look into the log and a decision.
pub const RECENT_KEYS: usize = 2 * (QUEUED_TOP_CALLS + STEERS);
/// Views that are kept: any other one is read from the beginning when it is looked at again.
pub const VIEWS: usize = 64;
/// Labels that are remembered for each thread.
pub const LABELS: usize = 256;
/// Bytes of a label.
pub const LABEL_BYTES: usize = 32;
/// Different calls, answers and parties that are remembered; a new one replaces the oldest.
pub const LOOP_ENTRIES: usize = 16;
/// Values of one body that are parts: the header names them all, and stays small.
pub const BODY_PARTS: usize = 1000;
/// Bytes of the name of a call, a step or a code in the message of a failure.
pub const CAUSE_NAME_BYTES: usize = 128;
/// Milliseconds that a payload waits by default: a request of Friday outlasts any weekend.
pub const APPROVAL_MS: u64 = 7 * 86_400_000;

// A thread id must have room for as many labels as the depth allows. Otherwise a legal spawn could not get an id.
const _: () = assert!("sess-".len() + 64 + DEPTH * 33 <= THREAD_ID_BYTES);
const _: () = assert!(CHECKPOINT_RECORDS <= RECORDS_TO_FOLD);
const _: () = assert!(EXCERPT_BYTES < MESSAGE_BYTES && LAST_WORDS_BYTES < MESSAGE_BYTES);

// The public address of the console

/// The port of `https://` that browsers leave out.
pub const HTTPS_PORT: u16 = 443;
/// Hex digits of the hash of a foreign id that does not fit into a name or a key.
pub const FOREIGN_DIGITS: usize = 40;
/// The port that `http` means.
pub const HTTP_PORT: u16 = 80;
/// Bytes of the name of a host, as DNS has them.
pub const HOST_BYTES: usize = 253;
/// Bytes of one label of it.
pub const HOST_LABEL_BYTES: usize = 63;

/// Version: the first one of stored configurations whose pumps took a file field only with its file.
pub(crate) const FILE_FIELDS: u32 = 8;
