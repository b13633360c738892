//! The log in NATS JetStream: for who has outgrown one machine, or wants another to go on where this one falls.
//!
//! What is committed is a message of the stream, and nothing else is: the SQLite file beside it is a copy, written by
//! each pump for itself, which serves everybody who reads, and can be made again. Whoever writes first takes the
//! partition over by a bundle with a higher epoch; a bundle that does not follow the last one is stored nowhere, so of
//! two pumps one writes, whatever the other believes. Nothing here decides what a record means.

mod appender;
mod bundle;
mod copying;
mod follow;
mod lead;
mod scribe;
mod sheaf;

use std::path::PathBuf;
use std::sync::Arc;

use crate::edges::log::sqlite::{self, Reader, Secret};
use crate::edges::nats::{LogStream, Unusable};
use systole_core::types::ports::LogFault;

pub use appender::Appender;
pub use copying::{Again, Brought, bring, bring_again};
pub use follow::{Fold, Stage, Tell};
pub use lead::{Lead, Sign};

/// The only partition there is (`docs/decisions/0022`).
const PARTITION: u32 = 0;

/// A log that this process writes.
pub struct Opened {
    /// The writing side.
    pub writer: Appender,
    /// The reading side: the copy.
    pub reader: Reader,
    /// What delivery tokens are made from, the same for every pump.
    pub secret: Secret,
    /// Whether this process still writes it.
    pub lead: Lead,
}

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Unopened {
    /// The copy cannot be used, or the stream does not hold together.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] Unusable),
    /// Another pump writes it.
    #[error("the log {stream} at {address} is written by {by}")]
    Led {
        /// The stream.
        stream: String,
        /// Where the broker is.
        address: String,
        /// Who.
        by: Sign,
    },
}

/// What to do where another pump writes the log.
pub enum Manner {
    /// Say so.
    AtOnce,
    /// Follow it, and take over when it is silent. What is given is told who writes, whenever that is another one.
    StandBy(Box<dyn FnMut(&Sign) + Send>),
}

/// Opens the log for writing: brings the copy up to date, and takes the partition over.
pub async fn open(stream: LogStream, copy: PathBuf, manner: Manner, fold: Fold) -> Result<Opened, Unopened> {
    let sqlite::Opened { writer, reader, secret, .. } = sqlite::open_copy(&copy)?;
    let secret = Secret(stream.shared_secret(secret.0).await?);
    let stream = Arc::new(stream);
    let mut follower = follow::Follower::of(writer, reader.clone(), stream.source().clone(), fold)?;
    follower.catch_up().await?;
    let scribe = lead::take_over(stream, follower, manner).await?;
    scribe.stream.is_led_in(scribe.epoch);
    let lead = lead::show(&scribe).await?;
    Ok(Opened { writer: Appender::new(scribe, lead.clone()), reader, secret, lead })
}
