//! The limits of servers and their tools: how long they may take, how much of theirs is read, kept and shown.

use std::time::Duration;

pub(crate) use systole_kit::schema::limits::OCCURS;

// How long

/// How long a server may take for its first answer, a page of its tools, the body of an answer.
pub(crate) const STEP: Duration = Duration::from_secs(60);
/// The longest pause before a broken stream of what a server says unasked is asked for again.
pub(crate) const UNASKED_PAUSE: Duration = Duration::from_secs(60);
/// How long a comparison holds for a server at an address.
pub(crate) const COMPARISON_HOLDS: Duration = Duration::from_secs(60);
/// How long a connection may take, and the body of an answer that is an error.
pub(crate) const CONNECT: Duration = Duration::from_secs(15);
/// How long a server may say nothing: a call ends earlier, by the timeout of its listener.
pub(crate) const SILENCE: Duration = Duration::from_secs(24 * 3600);
/// How long the end of a connection, and of a server without its stdin, may take.
pub(crate) const END: Duration = Duration::from_secs(2);
/// How long a server may take to end a call after its question was cancelled.
pub(crate) const LAST_WORD: Duration = Duration::from_millis(250);
/// The shortest time between two signs of progress of one call.
pub(crate) const PROGRESS_PAUSE: Duration = Duration::from_millis(250);

// A login

/// How long a person may take in the browser.
pub(crate) const IN_BROWSER: Duration = Duration::from_secs(600);
/// How long a browser may take to send its request.
pub(crate) const BROWSER_REQUEST: Duration = Duration::from_secs(10);
/// Bytes of the request of a browser.
pub(crate) const BROWSER_BYTES: usize = 16 << 10;
/// Connections of a browser that are open at once.
pub(crate) const BROWSER_CONNECTIONS: usize = 16;
/// Bytes of an answer of an authorization server.
pub(crate) const LOGIN_BYTES: usize = 1 << 20;
/// Letters of what went wrong.
pub(crate) const LOGIN_WORDS: usize = 600;
/// Letters of one right.
pub(crate) const SCOPE_LETTERS: usize = 200;
/// Rights that are asked for.
pub(crate) const SCOPES: usize = 64;
/// Requests for the beginning of a login, for its end, and for one renewal: four times what a usual one needs.
pub(crate) const LOGIN_REQUESTS: usize = 40;
/// How long they may take together.
pub(crate) const LOGIN_STEPS: Duration = Duration::from_secs(90);
/// How long until the lock of the tokens is tried again.
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// Logins whose secrets no words may hold: the newest ones.
pub(crate) const SEEN_LOGINS: usize = 3;
/// How long before its end a token is renewed.
pub(crate) const EXPIRES_SOON: Duration = Duration::from_secs(30);

// What a server sends

/// Bytes of what is read whole: a line of a server, a pin file, a lock.
pub(crate) const WHOLE_BYTES: usize = 4 << 20;
/// Bytes that are read of an answer that is an error.
pub(crate) const ERROR_BYTES: usize = 64 << 10;
/// Lines without a result in one second; more wait in the pipe.
pub(crate) const LINES_PER_SECOND: u32 = 200;
/// Lines that are no messages and are skipped: many servers print a greeting.
pub(crate) const STRAY_LINES: u32 = 100;
/// Pages of tools.
pub(crate) const TOOL_PAGES: usize = 16;
/// Tools of a server.
pub(crate) const TOOLS: usize = 256;
/// Packages of one server.
pub(crate) const PACKAGES: usize = 2000;
/// Characters of a message of progress that is passed on.
pub(crate) const PROGRESS_CHARACTERS: usize = 1_000;

// An answer

/// Bytes of the text of one answer.
pub(crate) const ANSWER_BYTES: usize = 256 << 10;
/// Bytes of an answer after it was cut.
pub(crate) const CUT_BYTES: usize = 3 * ANSWER_BYTES;
/// Bytes of JSON that is never too large.
pub(crate) const SMALL_BYTES: usize = 16 << 10;
/// Blocks of one answer, and parts whose omission is reported.
pub(crate) const ANSWER_BLOCKS: usize = 32;

// A question to a person

/// Calls that wait for a person.
pub(crate) const WAITING_CALLS: usize = 256;
/// Questions of one form.
pub(crate) const QUESTIONS: usize = 8;
/// Fields of one question.
pub(crate) const FIELDS: usize = 64;
/// Values of one field.
pub(crate) const FIELD_VALUES: usize = 256;
/// Bytes of a text for a person.
pub(crate) const PERSON_TEXT_BYTES: usize = 4 << 10;

// What is shown

/// Letters of a stray line, or of a media type, that are shown.
pub(crate) const SHOWN_BYTES: usize = 200;
/// Bytes of the text of a breach.
pub(crate) const BREACH_BYTES: usize = 300;
/// Lines of a difference: one screen.
pub(crate) const DIFFERENCE_LINES: usize = 40;
/// Lines of a difference about one tool.
pub(crate) const TOOL_LINES: usize = 10;
/// Bytes of a value in a line of a difference.
pub(crate) const DIFFERENCE_BYTES: usize = 120;

// The schema of a tool

/// Letters of the name of a tool.
pub(crate) const TOOL_NAME: usize = 128;
/// Letters of a name that is made from a longer one.
pub(crate) const MADE_NAME: usize = 64;
/// Nesting that is followed, with references.
pub(crate) const SCHEMA_DEPTH: usize = 40;
/// Schemas read for one tool: references can lead to the same one very often.
pub(crate) const SCHEMA_STEPS: usize = 10_000;
/// Parts of one `allOf`, alternatives of one `anyOf`, and references to follow.
pub(crate) const BRANCHES: usize = 64;
/// Properties of one object.
pub(crate) const PROPERTIES: usize = 1_000;
/// Letters of a pattern that is translated.
pub(crate) const PATTERN_LETTERS: usize = 2_000;
/// Nesting of the groups of a pattern.
pub(crate) const PATTERN_DEPTH: usize = 20;
/// Bytes of a compiled pattern.
pub(crate) const PATTERN_BYTES: usize = 1 << 20;
/// Steps back of one pattern on one text.
pub(crate) const BACKTRACKS: usize = 100_000;

// A server that is added or installed

/// Bytes of a text without a slash that counts as a few short words, and not as a secret.
pub(crate) const SHORT_BYTES: usize = 32;
/// Bytes that are read of a file of an installed package, or of a manager's configuration.
pub(crate) const PACKAGE_FILE_BYTES: u64 = 1 << 20;
