//! The limits of the house, in one place, with the relations between them.

/// Longest name of a party, in bytes.
pub const NAME_BYTES: usize = 63;
/// Longest idempotency key, in bytes.
pub const KEY_BYTES: usize = 128;
/// Longest thread id, in bytes: a root and a few dozen labels.
pub const THREAD_ID_BYTES: usize = 640;
/// Largest message taken from anybody, in bytes.
pub const MESSAGE_BYTES: usize = 1 << 20;
/// Most items in one reply.
pub const REPLY_ITEMS: usize = 64;
/// Bytes of a body that stand in its record; a longer one is stored once under its hash.
pub const LARGE_BODY: usize = 64 << 10;
/// Notices of one turn that are kept for the next one.
pub const NOTICES: usize = 64;
/// Questions that one delivery may ask.
pub const ASKS: usize = 64;
/// Journal entries that one delivery may make.
pub const JOURNAL: usize = 64;
/// Bytes of an answer to a question; what is more comes with the next one.
pub const PAGE_BYTES: usize = 256 << 10;
/// Words from elsewhere that may wait for the next turn of one call.
pub const STEERS: usize = 64;
/// Top calls that may wait behind the open one of a root, whoever opened them.
pub const QUEUED_TOP_CALLS: usize = 16;
/// Most turns that a file may allow a call to a listener. Nothing that is kept of a call grows with its turns.
pub const TURNS: u32 = 1_000_000;
/// The same for an agent, which may pay for each of them.
pub const AGENT_TURNS: u32 = 1_000;
/// How deep calls and spawns may nest at most, both counted together, whatever the file allows.
pub const DEPTH: usize = 16;
/// Children of one call that may be open at once. Every decision about the call may look at all of them, and they are
/// in its thread's row.
pub const OPEN_CHILDREN: usize = 1_000;
/// Most messages that a file may allow one message from outside. What was used is counted, not kept.
pub const BUDGET_MESSAGES: u32 = 1_000_000;
/// Most child threads that a file may allow one message from outside, over its whole life. The tree's use is added up
/// over those that run. A child whose end a turn has shown is only counted.
pub const BUDGET_CHILDREN: u32 = 10_000;
/// Most tokens that a file may allow one message from outside.
pub const BUDGET_TOKENS: u64 = 1_000_000_000_000;
/// The most that a file may allow one message from outside to cost, in millionths of the currency's unit.
pub const BUDGET_MICROS: u64 = 1_000_000 * 1_000_000;
/// Of a hundred parts of a budget, how many are used when its warning is given.
pub const WARNING_PERCENT: u64 = 80;
/// Characters of messages that one `<recalled>` shows: a model's share of a turn. 64 of them, escaped in the
/// worst way, still fit into memory many times over.
pub const RECALL_CHARACTERS: u64 = 32_768;
/// Bytes of messages, or of a document, on one page of what answers a question. A message that is larger has
/// a page to itself.
pub const ANSWER_BYTES: usize = 256 << 10;
/// Todo lists with different conditions that one call may have. All of them are in its thread's row.
pub const TODO_LISTS: usize = 32;
/// Timers of one thread that may be set at once. All of them are in its row.
pub const TIMERS: usize = 32;
/// Characters of a timer's note that the outcome of the call it opens repeats. While that call is open, they are
/// in its thread's row.
pub const TIMER_NOTE_CHARACTERS: usize = 1_000;
/// The shortest time after which a timer fires.
pub const TIMER_LEAST_MS: u64 = 1_000;
/// The longest: ten years.
pub const TIMER_MOST_MS: u64 = 3_650 * 86_400_000;
/// Deliveries of one turn that the pump's own death may cost before it becomes a dead letter; more only
/// for a listener that may be tried more often than that.
pub const LOST_WITH_PUMP: u32 = 5;
/// Bytes of a refused message from outside that are kept beside its hash.
pub const EXCERPT_BYTES: usize = 1024;
/// Bytes of a program's last words that are kept with its failure.
pub const LAST_WORDS_BYTES: usize = 2048;
/// Bytes of a code that a listener chose for its own failure or feedback; the core's schema takes no
/// longer one.
pub const OWN_CODE_BYTES: usize = 128;
/// Bytes of a listener's words about its own failure or feedback: some pages. They travel in a payload of
/// the core, which nobody else bounds.
pub const OWN_WORDS_BYTES: usize = 16 << 10;
/// Bytes of a person's note: some pages, which the caller is told.
pub const NOTE_BYTES: usize = 4 << 10;
/// Bytes of a question to a person.
pub const QUESTION_BYTES: usize = 4 << 10;
/// Messages that one question may show.
pub const QUESTION_SHOWS: usize = 16;
/// Choices that one question may have. All of them are in its thread's row.
pub const QUESTION_CHOICES: usize = 16;
/// Characters of a choice: a word that a person types.
pub const CHOICE_CHARACTERS: usize = 64;
/// Characters of the label of a message that a question shows: a line.
pub const LABEL_CHARACTERS: usize = 200;
/// The shortest time that a question waits.
pub const QUESTION_LEAST_MS: u64 = 1_000;
/// The longest: a year.
pub const QUESTION_MOST_MS: u64 = 365 * 86_400_000;
/// Largest organism file and largest schema, in bytes.
pub const CONFIG_FILE_BYTES: usize = 1 << 20;
/// How deep an organism file may nest. Its own keys need five levels; each level of a workflow's steps needs three: the
/// list, the entry and the step. So 64 levels of steps fit.
pub const CONFIG_DEPTH: usize = 208;
/// Most entries in any list or map of an organism file, and so most listeners.
pub const CONFIG_ENTRIES: usize = 1024;
/// Replies with a receipt that are known when they come again.
pub const REPLIES: usize = 65_536;
/// Records that a start reads for the newest of them.
pub const REPLIES_READ: u64 = 4096;
/// Bytes of bodies among those, after which it reads no further back.
pub const REPLIES_READ_BYTES: usize = 8 << 20;
/// Fewest records between two checkpoints of the fold.
pub const CHECKPOINT_RECORDS: usize = 4096;
/// Records for each row that a checkpoint writes, where many threads are at work.
pub const RECORDS_PER_ROW: usize = 8;
/// Most records between two checkpoints: what opening a log may have to fold.
pub const RECORDS_TO_FOLD: usize = 16_384;

// A thread id has room for as many labels as the depth allows, or a legal spawn could not be named.
const _: () = assert!("sess-".len() + 64 + DEPTH * 33 <= THREAD_ID_BYTES);
const _: () = assert!(CHECKPOINT_RECORDS <= RECORDS_TO_FOLD);
const _: () = assert!(EXCERPT_BYTES < MESSAGE_BYTES && LAST_WORDS_BYTES < MESSAGE_BYTES);
