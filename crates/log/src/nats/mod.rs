//! The log in NATS JetStream: for an organism that has outgrown one machine, or needs another machine to continue
//! when one fails.
//!
//! A commit is a message of the stream, and nothing else is. The SQLite file is a copy, which each pump writes for
//! itself; it serves all readers and can be made again. A pump first takes the partition over with a bundle of a
//! higher epoch. A bundle that does not follow the last one is never stored, so only one of two pumps writes, even if
//! both believe that they own the partition. Nothing here decides what a record means.

mod appender;
mod bundle;
mod bundle_batch;
mod bundle_writer;
mod copying;
mod follow;
mod lead;

use std::path::PathBuf;
use std::sync::Arc;

use crate::sqlite::{self, LogSecret, SqliteReader};
use systole_bus::{BrokerFault, LogStream};
use systole_core::types::ports::LogFault;

pub use appender::NatsAppender;
pub use copying::{CurrentCopy, OldCopy, bring_again, bring_copy};
pub use follow::{CopyStage, RowMaker, StageReporter};
pub use lead::{LifeSign, LogOwnership};

/// The only partition (`docs/decisions/0022`).
const PARTITION: u32 = 0;

/// A log that this process writes.
pub struct OpenNatsLog {
    /// The writing side.
    pub writer: NatsAppender,
    /// The reading side: the copy.
    pub reader: SqliteReader,
    /// The source of delivery tokens, the same for every pump.
    pub secret: LogSecret,
    /// Whether this process still writes it.
    pub lead: LogOwnership,
}

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum NatsLogFault {
    /// The copy cannot be used, or the stream is inconsistent.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The broker cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// Another pump writes it.
    #[error("the log {stream} at {address} is written by {by}")]
    Led {
        /// The stream.
        stream: String,
        /// The address of the broker.
        address: String,
        /// The writer.
        by: LifeSign,
    },
}

/// What to do if another pump writes the log.
pub enum TakeOverMode {
    /// Report that and stop.
    AtOnce,
    /// Follow the log, and take over when the writer is silent. The closure gets each sign of life of another writer.
    StandBy(Box<dyn FnMut(&LifeSign) + Send>),
}

/// Opens the log for writing: brings the copy up to date, and takes the partition over.
pub async fn open_log(
    stream: LogStream,
    copy: PathBuf,
    manner: TakeOverMode,
    fold: RowMaker,
) -> Result<OpenNatsLog, NatsLogFault> {
    let sqlite::OpenSqliteLog { writer, reader, secret, .. } = sqlite::open_copy(&copy)?;
    let secret = LogSecret(stream.read_shared_secret(secret.0).await?);
    let stream = Arc::new(stream);
    let mut follower = follow::CopyFollower::new(writer, reader.clone(), stream.source().clone(), fold)?;
    follower.catch_up().await?;
    let bundle_writer = lead::take_over(stream, follower, manner).await?;
    bundle_writer.stream.is_led_in(bundle_writer.epoch);
    let lead = lead::show_lead(&bundle_writer).await?;
    Ok(OpenNatsLog { writer: NatsAppender::new(bundle_writer, lead.clone()), reader, secret, lead })
}
