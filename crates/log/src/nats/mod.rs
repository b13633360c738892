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
mod other_writer;

use std::path::PathBuf;
use std::sync::Arc;

use crate::sqlite::{self, LogSecret, SqliteReader};
use systole_bus::LogStream;

pub use appender::NatsAppender;
pub use copying::{CurrentCopy, OldCopy, bring_again, bring_copy};
pub use follow::{CopyStage, NatsLogFault, RowMaker, StageReporter};
pub use lead::LogOwnership;
pub use other_writer::{LifeSign, TakeOverMode};

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
