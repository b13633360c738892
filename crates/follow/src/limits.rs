//! The limits of a follower: how long it waits, and how much it holds.

use std::time::Duration;

// Time

/// Milliseconds of a second.
pub(crate) const SECOND_MS: u64 = 1_000;
/// Nanoseconds of a millisecond.
pub(crate) const MILLI_NANOS: u64 = 1_000_000;
/// How long a receiver has to take an event: what is slower is taken for away.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(15);
/// The pause after the first failed try; each further one is twice as long.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two tries: a receiver that is back is noticed by then.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long a follower may be behind the log before that is recorded.
pub(crate) const BEHIND: Duration = Duration::from_secs(300);
/// How long a follower waits after a record for more of them: many at once cost less than one at a time.
pub(crate) const FOLLOW_PAUSE: Duration = Duration::from_millis(100);
/// How often metrics are sent: collectors expect them about each minute.
pub(crate) const METRICS_PAUSE: Duration = Duration::from_secs(60);
/// How often a follower that waits looks whether a person moved its cursor.
pub(crate) const CURSOR_LOOK: Duration = Duration::from_secs(1);

// Tries

/// How often an event is sent that its receiver refuses, before it is skipped.
pub(crate) const REFUSALS: u32 = 5;

// What is read and held

/// Records that are read at once.
pub(crate) const PAGE_RECORDS: usize = 512;
/// Bytes of the bodies of records that are read at once, beside the last one.
pub(crate) const PAGE_BYTES: usize = 4 << 20;
/// Records that are passed over before the cursor is written: so many are read again after a restart.
pub(crate) const CURSOR_STRIDE: u64 = 1024;
/// Records of a thread that are read at once, to find the one that opened a call.
pub(crate) const OPENING_RECORDS: u64 = 16;
/// Threads that are kept folded to make spans: a record of any other one has its thread read again.
pub(crate) const TRACED_THREADS: usize = 256;
/// Configurations that are kept to make spans: each of them is read once as long as calls use no more.
pub(crate) const TRACED_CONFIGURATIONS: usize = 8;
/// Bytes of a receiver's answer that are read: only its first words are shown.
pub(crate) const ANSWER_BYTES: usize = 16 << 10;
/// Characters of a receiver's answer that a person sees.
pub(crate) const WORDS: usize = 200;
/// Characters of a payload in a message for Slack.
pub(crate) const SLACK_CHARACTERS: usize = 3000;
/// Bytes of a secret: a shorter one can be guessed. Standard Webhooks names 24 to 64, and receivers have made shorter ones.
pub(crate) const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=64;
/// Followers of one organism: each reads the log for itself.
pub const FOLLOWERS: usize = 16;
