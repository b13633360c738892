//! The limits of the pages: how much they take and how much they show.

pub(crate) use systole_api::limits::{ENTRIES, MOST_ENTRIES};
pub(crate) use systole_core::types::limits::ANSWER_BYTES;
pub(crate) use systole_hall::limits::{ADDRESS_BYTES, LONG_SESSION_SECONDS, TEXT, WORDS};
pub(crate) use systole_queries::limits::{LINES_AROUND, REQUEST_COLUMNS};

// Connections and bodies

/// Bytes of a form: the largest payload, as browsers write it.
pub(crate) const FORM_BYTES: usize = 12 << 20;
/// Fields of a form: more than any schema's form has.
pub(crate) const FORM_FIELDS: usize = 5_000;

// Who signs in

/// Bytes of the body of a stranger: a code or a token, and the address that she wanted.
pub(crate) const SIGN_IN_BYTES: usize = 8 << 10;

// Reading

/// Records after a refusal that are searched for what was said instead.
pub(crate) const SEARCHED: usize = 256;
/// Records that a page verifies; the command verifies any number.
pub(crate) const VERIFIED: u64 = 1_000_000;
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

// Words of a page

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
/// Characters of a text to search for.
pub(crate) const SEARCH_TEXT: usize = 200;
/// Characters before a word that was found.
pub(crate) const BEFORE_WORD: usize = 80;
/// Characters after it.
pub(crate) const AFTER_WORD: usize = 200;
/// Digits of the hash in the name of a page's file: enough to tell versions apart.
pub(crate) const VERSION_DIGITS: usize = 16;
