//! The limits of the configuration. Those of the core that it shows or checks stand beside them.

pub(crate) use systole_core::types::limits::{
    AGENT_TURNS, APPROVAL_MS, BUDGET_CHILDREN, BUDGET_MESSAGES, BUDGET_MICROS, BUDGET_REQUESTS,
    BUDGET_TOKENS, CONFIG_DEPTH, CONFIG_ENTRIES, CONFIG_FILE_BYTES, DEPTH, EARLIER_DEPTH, MESSAGE_BYTES,
    OUTAGE_MS, QUEUE_CALLS, QUEUE_CALLS_MOST, REQUESTS, STUCK_MS, TURNS, WAIT_MOST_MS,
};

// Files and what is said about them

/// Mistakes of one file that are shown: a person corrects some and looks again.
pub(crate) const MISTAKES: usize = 200;
/// Warnings of one code that are shown: more have one common cause, and hide the others.
pub(crate) const WARNINGS: usize = 20;
/// Requests to a model for which a budget should have room.
pub(crate) const FEWEST_REQUESTS: u64 = 3;
/// Columns before an excerpt: the number of its line, and the bar.
pub(crate) const GUTTER: usize = 12;
/// Bytes of a schema that the judge accepts.
pub(crate) const SCHEMA_BYTES: usize = 1 << 20;
/// Bytes at the beginning of a program in which its imports are looked for.
pub(crate) const IMPORT_BYTES: u64 = 64 << 10;
/// Characters from which a text with the prefix of a key is one, where a name is possible too.
pub(crate) const KEY_CHARACTERS: usize = 16;
/// Characters of the seed of an nkey.
pub(crate) const SEED_CHARACTERS: usize = 58;

// Keys

/// Bytes of the name of a header: servers take no longer ones.
pub(crate) const HEADER_NAME: usize = 64;
/// Schedules of an organism: the pump looks at each of them whenever it wakes.
pub(crate) const SCHEDULES: usize = 256;
/// Places that get each checkpoint: each costs a request.
pub(crate) const PLACES: usize = 16;
/// Tokens that a request keeps free, because the provider may count differently.
pub(crate) const SPARE_TOKENS: u64 = 256;
/// The largest amount of a model's rate.
pub(crate) const RATE_AMOUNT: u64 = 1_000_000_000;
/// Tokens of an answer, by default.
pub(crate) const SMALL_OUTPUT: u64 = 4_000;
/// Tokens of an answer with its reasoning, or from a provider's own server, by default.
pub(crate) const LARGE_OUTPUT: u64 = 16_000;
/// The fewest tokens of reasoning that Anthropic takes.
pub(crate) const LEAST_THINKING: u64 = 1_024;
/// Percent of its parent's budget that a child may use, by default.
pub(crate) const SHARE_PERCENT: u32 = 50;
/// Calls and spawns that may nest.
#[expect(clippy::cast_possible_truncation, reason = "it is 64")]
pub(crate) const MOST_DEPTH: u32 = DEPTH as u32;
/// Repetitions that a loop may be allowed.
pub(crate) const ROUNDS: u32 = 1_000;
/// Milliseconds for an attempt of an agent: its model may need minutes, and be called several times.
pub(crate) const AGENT_TIMEOUT_MS: u64 = 600_000;
/// Deliveries at the same time to a listener that is no program of someone else.
pub(crate) const IN_FLIGHT: usize = 16;

// Workflows

/// Milliseconds for a turn of a workflow, which only reads its input and decides the next step.
pub(crate) const WORKFLOW_TIMEOUT_MS: u64 = 600_000;
/// Passes of a loop.
pub(crate) const PASSES: u32 = 1_000;
/// Branches of a step that work at the same time, by default.
pub(crate) const STEPS_AT_ONCE: u32 = 4;
/// Bytes of the id of a step: it is part of the names of threads.
pub(crate) const STEP_ID_BYTES: usize = 32;
/// Passes of a loop of an Agentfile that names no bound.
pub(crate) const PASSES_BY_DEFAULT: u32 = 5;
/// Bytes of a name that is made of the words of an Agentfile.
pub(crate) const LABEL_BYTES: usize = 40;
/// Bytes of the name of a payload that is made so: it has the name of its step inside.
pub(crate) const PAYLOAD_LABEL_BYTES: usize = 60;
/// Words between an activity and its object.
pub(crate) const NEED_WORDS: usize = 6;
/// Columns of a line of an Agentfile that are shown to people.
pub(crate) const SHOWN_COLUMNS: usize = 60;
/// Columns of a line whose words can be wrapped.
pub(crate) const YAML_COLUMNS: usize = 100;

// Milliseconds

/// Of a second.
pub(crate) const SECOND: u64 = 1_000;
/// Of a minute.
pub(crate) const MINUTE: u64 = 60 * SECOND;
/// Of an hour.
pub(crate) const HOUR: u64 = 60 * MINUTE;
/// Of a day.
pub(crate) const DAY: u64 = 24 * HOUR;
/// Of a year.
pub(crate) const YEAR: u64 = 365 * DAY;
