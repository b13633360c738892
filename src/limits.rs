//! The limits of the commands: how long they wait, how much they read, and how much of it they show.

use std::time::Duration;

pub(crate) use systole_core::types::limits::MESSAGE_BYTES;
pub(crate) use systole_log::limits::{BODY_BYTES, KNOWN_THREADS};
pub(crate) use systole_queries::limits::GLANCE_COLUMNS;

// Waiting for an organism

/// How long replies may take when an organism, or its stdin, ends, and an end with `--now`.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Seconds that an organism may take to stop: it waits for replies, then writes its log.
pub(crate) const STOP_SECONDS: u64 = 30;
/// How long the runtime's threads may take to end, once everything important is on disk.
pub(crate) const LAST_THREADS: Duration = Duration::from_secs(1);
/// How often to look at the organism while it starts.
pub(crate) const START_LOOK: Duration = Duration::from_millis(50);
/// How long to wait between two looks for a door.
pub(crate) const DOOR_LOOK: Duration = Duration::from_millis(100);
/// How often to look for a door: ten seconds in all.
pub(crate) const DOOR_LOOKS: u32 = 100;
/// Answers in a row that were taken up and brought nothing.
pub(crate) const IDLE_RETURNS: u32 = 20;
/// How long to look for an organism that has broken off its answer: it may be started again by hand.
pub(crate) const RETURN_TIME: Duration = Duration::from_secs(60);
/// Milliseconds between two looks at a log that is followed: its writer sends no signal.
pub(crate) const LOG_LOOK_MS: u64 = 200;
/// Milliseconds between two looks at the picture.
pub(crate) const PICTURE_LOOK_MS: u64 = 250;
/// How often a lost stream is opened again: a restart takes less.
pub(crate) const STREAM_TRIES: u32 = 40;
/// How long to wait before each try.
pub(crate) const STREAM_PAUSE: Duration = Duration::from_millis(500);
/// How long an organism that is reloaded waits for a command that uses its log, and how long between two tries.
pub(crate) const RELOAD_PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const RELOAD_PAUSE: Duration = Duration::from_millis(100);
/// How long to wait before a broker that is away is tried again.
pub(crate) const BROKER_PAUSE: Duration = Duration::from_secs(1);
/// How often it is said that the broker is still away.
pub(crate) const BROKER_WORDS: Duration = Duration::from_secs(60);
/// How long until workers are counted again, and until a sender hears that a call waits.
pub(crate) const WORKERS_PAUSE: Duration = Duration::from_secs(2);
/// How long a command that started the broker waits for a worker: clients try again every two to four seconds.
pub(crate) const WORKERS_RETURN: Duration = Duration::from_secs(10);
/// How often the line with who works is written again.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// Seconds of silence after which the line shows who works instead of a listener's words.
pub(crate) const SILENT_SECONDS: u32 = 5;
/// How long a witness has for one answer.
pub(crate) const WITNESS_ANSWER: Duration = Duration::from_secs(20);

// The demo

/// How long the demo waits for the next thing to happen.
pub(crate) const DEMO_STEP: Duration = Duration::from_secs(30);
/// How long the demo waits for a person, instead of the time in the organism file.
pub(crate) const DEMO_PERSON: Duration = Duration::from_secs(20);
/// How long it waits if there is no person.
pub(crate) const DEMO_NO_PERSON: Duration = Duration::from_secs(3);
/// Characters of a model's answer before the process is killed: enough to read its beginning.
pub(crate) const DEMO_SAID: usize = 36;
/// Columns of the narrowest page of the demo.
pub(crate) const DEMO_COLUMNS: usize = 40;
/// The column of the facts of the demo, after their names.
pub(crate) const FACT_COLUMN: usize = 23;

// Tests of an organism

/// Lines of a thread below a failed test.
pub(crate) const TEST_LINES: usize = 60;
/// How many of them are its first.
pub(crate) const TEST_FIRST_LINES: usize = 20;

// MCP servers

/// How long one program of an installation may take.
pub(crate) const INSTALL_STEP: Duration = Duration::from_secs(600);
/// Processes of one program of an installation.
pub(crate) const INSTALL_PROCESSES: u32 = 256;
/// Bytes of memory of one program of an installation.
pub(crate) const INSTALL_MEMORY_BYTES: u64 = 8 << 30;
/// How long a server may take to list its tools: it may be loaded first.
pub(crate) const PIN_TIME: Duration = Duration::from_secs(180);
/// Bytes of a line: the door refuses a shorter one in its own words.
pub(crate) const PIPE_LINE_BYTES: u64 = 12 << 20;
/// How long an Ollama on this machine may take: it answers in a few milliseconds.
pub(crate) const OLLAMA_ANSWER: Duration = Duration::from_millis(300);

// What is read

/// Bytes of a foreign file or answer: a schema, a package, a list of models.
pub(crate) const FILE_BYTES: u64 = 1 << 20;
/// Schemas of a folder.
pub(crate) const SCHEMA_FILES: usize = 256;
/// Bytes of a file to make a workflow of: the result must fit into an organism file.
pub(crate) const WORKFLOW_BYTES: u64 = FILE_BYTES / 2;
/// Bytes of a line that a person types: more than any shows.
pub(crate) const LINE_BYTES: usize = 4096;
/// Bytes of other output that are kept for one line, or for JSON.
pub(crate) const ASIDE_BYTES: usize = 64 << 10;
/// Bytes of an entry that a zip file of ours can have.
pub(crate) const EXPORT_ENTRY_BYTES: u64 = u32::MAX as u64;
/// Hits that are judged by an expression at once.
pub(crate) const HITS: usize = 64;
/// Their bytes.
pub(crate) const HIT_BYTES: usize = 4 << 20;
/// Records between two reports of progress.
pub(crate) const PROGRESS: u64 = 4_096;
/// Positions between two reports of progress of a search.
pub(crate) const FIND_PROGRESS: u64 = 1_000;
/// Threads that are asked for at once of an organism elsewhere: as many as it gives.
pub(crate) const THREADS_PART: usize = 1_000;
/// Records that are written at once, and requests of one answer of an organism elsewhere.
pub(crate) const REQUESTS: usize = 1_000;
/// Threads, speakers and events of one call that are kept: few speak at once.
pub(crate) const CALLS: usize = 64;

// What is shown

/// Records of a whole log if no start is given.
pub(crate) const NEWEST: u64 = 100;
/// Threads that are offered for a word: the newest.
pub(crate) const OFFERED_THREADS: usize = 100;
/// Erased records that are named one by one.
pub(crate) const NAMED_ERASED: usize = 100;
/// Differences, prompts, files or parts left out that are listed.
pub(crate) const LISTED: usize = 20;
/// Open threads of a configuration that are named.
pub(crate) const NAMED_THREADS: usize = 3;
/// Misfits, gaps, chains or deliveries without an answer that are named.
pub(crate) const LISTED_FAULTS: usize = 10;
/// Failed threads of which a retry says one by one what it does.
pub(crate) const RETRIES_SHOWN: usize = 10;
/// Refused messages that are named.
pub(crate) const REFUSED_NAMED: usize = 5;
/// Lines of a payload if no one can turn pages: more than most have, few enough for a log.
pub(crate) const UNTURNED_LINES: usize = 40;
/// Columns of the narrowest terminal.
pub(crate) const LEAST_COLUMNS: usize = 20;
/// Columns of a text before a word that was found.
pub(crate) const BEFORE_WORD: usize = 40;
/// Columns of it after the word.
pub(crate) const AFTER_WORD: usize = 2 * BEFORE_WORD;
/// Bytes of a program's version.
pub(crate) const VERSION_BYTES: usize = 60;
/// Bytes of an answer that the advice on how to send it repeats.
pub(crate) const EXAMPLE_BYTES: usize = 200;
