//! The limits of an agent: what an answer may hold, what is kept of a conversation, what is shown of an event.

use std::time::Duration;

pub(crate) use systole_kit::limits::TEXT_BYTES;

// An answer

/// Actions in one answer: the pump takes no more items.
pub(crate) const ACTIONS: usize = 64;
/// Identical answers in a row after which the agent ends with a report.
pub(crate) const SAME_ANSWERS: u32 = 4;
/// Bytes of an unusable answer in the report.
pub(crate) const UNUSABLE_BYTES: usize = 16 << 10;
/// Places of a wrong answer that are reported at once.
pub(crate) const PLACES: usize = 5;
/// Blocks of thinking that are skipped: a text of such blocks is not read again and again.
pub(crate) const SKIPPED_BLOCKS: usize = 32;
/// Actions in one answer that a grammar holds.
pub(crate) const GRAMMAR_ACTIONS: usize = 8;
/// The reasoning that a grammar allows has at most this share of the tokens as characters.
pub(crate) const REASONING_SHARE: u64 = 4;
/// Hex digits of a code: no answer has it by chance.
pub(crate) const CODE_DIGITS: usize = 8;

// A conversation

/// Turns with a link each when a conversation is rebuilt; more turns share their links.
pub(crate) const LINKED_TURNS: usize = 24;
/// Bytes of a link that holds several turns: one stored text may have a megabyte.
pub(crate) const LINK_BYTES: usize = 256 << 10;
/// Tokens kept free besides the answer.
pub(crate) const SPARE_TOKENS: u64 = 256;
/// Tokens that a question needs, for a conversation to be possible at all.
pub(crate) const QUESTION_TOKENS: u64 = 2 * SPARE_TOKENS;
/// How many steps make a prompt smaller that its provider finds too long: the last one leaves out every result.
pub(crate) const NARROW_STEPS: u64 = 3;
/// Bytes of a result up to which leaving it out gains nothing.
pub(crate) const HIDDEN_BYTES: usize = 160;
/// How many times smaller reported tokens make an estimate at most. A provider that leaves out what was cached reports
/// far too little.
pub(crate) const LEAST_SCALE: u64 = 2;
/// How many times greater they make it at most.
pub(crate) const MOST_SCALE: u64 = 4;
/// The share of the window from which on an agent clears its view: four fifths.
pub(crate) const CLEAR_SHARE: (u64, u64) = (4, 5);
/// Messages that it keeps then.
pub(crate) const CLEAR_KEEP: u64 = 4;
/// Tokens of the frame around a message.
pub(crate) const FRAME_TOKENS: u64 = 8;

// A file

/// Bytes of a kilobyte and of a megabyte, as sizes are shown.
pub(crate) const KILOBYTE: u64 = 1_000;
pub(crate) const MEGABYTE: u64 = 1_000_000;
/// Bytes of a file that a model sees, at most.
pub(crate) const FILE_BYTES: u64 = 8 << 20;
/// Bytes of the files in one request.
pub(crate) const REQUEST_FILE_BYTES: u64 = 20 << 20;
/// Bytes of a picture for Anthropic, which takes five mebibytes as base64.
pub(crate) const ANTHROPIC_IMAGE_BYTES: u64 = (5 << 20) / 4 * 3;
/// Bytes of the files in one request to Gemini, which takes twenty megabytes as base64 with all else.
pub(crate) const GEMINI_FILE_BYTES: u64 = 14 << 20;
/// Questions of one delivery that read files. 64 may be asked, and the links of a prompt need up to 24.
pub(crate) const FILE_QUESTIONS: u64 = 32;
/// Bytes that each of them brings.
pub(crate) const QUESTION_BYTES: u64 = 256 << 10;
/// Bytes of files that an agent keeps for the next request.
pub(crate) const SHELF_BYTES: usize = 64 << 20;
/// Bytes of a file for each token that it is estimated to have.
pub(crate) const FILE_TOKEN_BYTES: u64 = 200;
/// The fewest and the most tokens of a picture.
pub(crate) const IMAGE_TOKENS: (u64, u64) = (258, 5_000);
/// Pixels of a picture that are one token.
pub(crate) const TOKEN_PIXELS: u64 = 500;
/// Tokens of a page of a PDF.
pub(crate) const PAGE_TOKENS: u64 = 3_000;
/// Pages of a PDF that are counted: more than any provider takes.
pub(crate) const PDF_PAGES: u64 = 1_000;

// A model

/// The longest wait for the rate of a model within an attempt: attempts over NATS may be silent for 30 seconds.
pub(crate) const RATE_WAIT: Duration = Duration::from_secs(25);

/// Fields that a provider may refuse, each once: `RefusedField` has them.
pub(crate) const REFUSED_FIELDS: u32 = 5;

// A live stream

/// Pieces that wait while one is being sent.
pub(crate) const LIVE_PIECES: usize = 256;
/// Bytes sent at once.
pub(crate) const LIVE_BYTES: usize = 64;
/// How long words wait for more: a reader sees no stutter, and no report holds one word.
pub(crate) const LIVE_PAUSE: Duration = Duration::from_millis(50);

// What holds an answer

/// Parts of a schema inside one another in which a missing property is looked for.
pub(crate) const SCHEMA_DEPTH: usize = 64;

// What Anthropic takes

/// Tools that may be strict.
pub(crate) const STRICT_TOOLS: usize = 20;
/// The fewest tokens of reasoning.
pub(crate) const LEAST_BUDGET: u64 = 1_024;

// What a model says of itself

/// Requests for one answer, to a model and its fallbacks: an attempt has room for two journal entries of each.
pub(crate) const REQUESTS: u32 = 30;

/// Characters of an excerpt.
pub(crate) const EXCERPT: usize = 300;
/// Bytes of an item's id, kind and status: they are no part of what a model wrote.
pub(crate) const ITEM_BYTES: usize = 512;
/// Bytes of a word that a provider says of itself: its model, or the id of a request.
pub(crate) const SERVED_BYTES: usize = 128;
/// Bytes of a key at the end of a cut text from which on it reveals something.
pub(crate) const KEY_BYTES: usize = 4;
/// Bytes that tell an event from other text.
pub(crate) const EVENT_BYTES: usize = 6;
/// Calls of a script that are remembered: for another one, the use is worked out again.
pub(crate) const SCRIPT_CALLS: usize = 1024;
