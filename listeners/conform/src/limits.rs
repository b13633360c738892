//! The waits and sizes of the kit. Each wait is longer than what a page allows a worker.

use std::time::Duration;

/// For the first answer of a worker that was started: a busy machine may need many seconds for it.
pub(crate) const START: Duration = Duration::from_secs(20);
/// For an answer that needs no work.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);
/// For something that must not come.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);
/// From the end of stdin of an idle program to its end.
pub(crate) const EOF_END: Duration = Duration::from_secs(5);
/// From a cancel to the reply or the failure; the pump kills a program after 5 s.
pub(crate) const CANCEL: Duration = Duration::from_millis(4_800);
/// From the end of stdin to the end of a program whose work hangs.
pub(crate) const ORPHAN: Duration = Duration::from_secs(15);
/// For the end of a program after TERM, beyond its work.
pub(crate) const TERM_END: Duration = Duration::from_secs(20);
/// For a program to take what is written to it.
pub(crate) const WRITE: Duration = Duration::from_secs(10);
/// For everything that a flood of work brings.
pub(crate) const FLOOD: Duration = Duration::from_secs(30);
/// For a worker over NATS to come back to a broker that was away.
pub(crate) const RECONNECT: Duration = Duration::from_secs(15);
/// For a worker that cannot reach the broker to end after TERM.
pub(crate) const TERM_AWAY: Duration = Duration::from_secs(60);
/// How long before the broker a worker may end a pull by its own clock.
pub(crate) const OWN_CLOCK: Duration = Duration::from_millis(500);
/// The longest time between two renewals that a check accepts, with room for a busy machine.
pub(crate) const RENEWAL: Duration = Duration::from_millis(2_500);
/// For the kit's own nats-server to start.
pub(crate) const SERVER_START: Duration = Duration::from_secs(10);

/// Documents of a worker that wait to be judged. A worker that says more waits for the kit.
pub(crate) const WAITING_FRAMES: usize = 4_096;
/// The most bytes of one document of a worker.
pub(crate) const FRAME_BYTES: usize = 16 << 20;
/// The most bytes that a check hears of a worker. One that floods its output is not read further.
pub(crate) const HEARD_BYTES: usize = 32 << 20;
/// Bytes that the slow reader takes in a step.
pub(crate) const SLOW_STEP: usize = 6_554;
/// The pause between two steps of the slow reader: together 64 KiB a second.
pub(crate) const SLOW_PAUSE: Duration = Duration::from_millis(100);
/// Checks without a verdict for the same reason that a report lists; more are counted.
pub(crate) const SAME_REASON: usize = 3;
/// Bytes of stderr that a report repeats.
pub(crate) const LAST_WORDS: usize = 600;
/// Characters of a document that a report repeats.
pub(crate) const SHOWN: usize = 400;
/// Checks that run at the same time.
pub(crate) const AT_ONCE: usize = 8;
/// Messages of a broker that wait to be read.
pub(crate) const WAITING_MESSAGES: usize = 4_096;
/// The most bytes of one message of a worker that the kit still forwards to its server.
pub(crate) const MESSAGE_BYTES: usize = 64 << 20;
/// The first port that a broker of the kit may have, and how many there are: below those of outgoing connections.
pub(crate) const PORTS: (u16, u32) = (12_000, 16_000);
/// How many ports are tried.
pub(crate) const PORT_TRIES: u32 = 200;

// The work of checks

/// A moment in which a worker has begun what it got, or says what it still has to say.
pub(crate) const MOMENT: Duration = Duration::from_millis(300);
/// Between two looks at what a worker has done.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// A moment in which a worker has taken a delivery and works on it.
pub(crate) const BEGUN: Duration = Duration::from_millis(500);
/// For what a program that has ended left in its pipe.
pub(crate) const LEFT: Duration = Duration::from_millis(200);
/// The longest time for as many sleeps at once as the listener may have deliveries: three times one of them.
pub(crate) const SLEEPS_AT_ONCE: Duration = Duration::from_millis(1_500);
/// The shortest pause after a pull that the broker refused, with room for its way.
pub(crate) const REFUSED_PULL: Duration = Duration::from_millis(450);
/// The shortest pause before a reply goes out again, with room for its way.
pub(crate) const RESEND: Duration = Duration::from_millis(40);
/// How long the broker of a check is away.
pub(crate) const AWAY: Duration = Duration::from_secs(5);
/// Milliseconds of work that is over in a moment.
pub(crate) const SHORT_MS: u64 = 300;
/// Milliseconds of each of many sleeps.
pub(crate) const SLEEP_MS: u64 = 500;
/// Milliseconds of work in which something happens to the worker.
pub(crate) const SOME_MS: u64 = 1_500;
/// Milliseconds of work that others overtake, or that spans a restart.
pub(crate) const SLOW_MS: u64 = 4_000;
/// Milliseconds of work that has to be renewed.
pub(crate) const RENEWED_MS: u64 = 6_000;
/// Milliseconds of blocking work that has to be renewed.
pub(crate) const BLOCKED_MS: u64 = 10_000;
/// Milliseconds of work that a check does not wait for.
pub(crate) const LONG_MS: u64 = 60_000;
/// Deliveries of a flood.
pub(crate) const MANY: usize = 100;
/// Bytes of a text of the size that a document over stdin carries; over NATS a message has room for a little less.
pub(crate) const LARGE_TEXT: usize = (1 << 20) - (1 << 9);
pub(crate) const LARGE_TEXT_NATS: usize = 900_000;
/// Bytes of a reply that is larger than any may be, and larger than a message of the kit's broker.
pub(crate) const TOO_LARGE_REPLY: u64 = 9 << 20;
pub(crate) const TOO_LARGE_MESSAGE: u64 = (1 << 20) + (1 << 12);
/// Nanoseconds that a pull may wait.
pub(crate) const EXPIRES_NS: std::ops::Range<u64> = 1..300_000_000_000;
/// Nanoseconds of a pull that does not say how long it waits.
pub(crate) const NO_EXPIRES_NS: u64 = 1_000_000_000;
/// The number of the kit's subscription to what workers say, which can be taken back.
pub(crate) const SAID: usize = 5;
/// Bytes of a stored text in one answer.
pub(crate) const PAGE_BYTES: usize = 256 << 10;
/// Spreads the ports of kits that run at the same time.
pub(crate) const PORT_STRIDE: u32 = 131;
