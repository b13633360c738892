//! Opens a log in NATS to erase from it: as its one writer, without starting the organism.

use std::path::Path;

use super::plan::StartFault;
use systole_bus::{Broker, BrokerCredentials, LogStream, PATIENCE};
use systole_core::pump::wake;
use systole_core::types::ids::Name;
use systole_core::types::ports::LogFault;
use systole_log::nats::{self, OpenNatsLog, TakeOverMode};

/// Brings the copy up to date, and takes the log over. It is refused while a pump writes the log.
pub async fn open_for_erasing(
    organism: &Name,
    url: &str,
    credentials: Option<&BrokerCredentials>,
    replicas: usize,
    copy: &Path,
) -> Result<OpenNatsLog, StartFault> {
    let broker = Broker::connect_to_cluster(organism, url, credentials, replicas, PATIENCE).await?;
    // A new stream in place of a lost one would only block the restore from a backup.
    if let (false, path) = LogStream::is_there(&broker).await? {
        let why = format!("it is not there any more, and the copy {} is not empty", copy.display());
        return Err(LogFault::Apart { path, why }.into());
    }
    let stream = Box::pin(LogStream::find_or_make(broker.into(), organism, replicas)).await?;
    let fold = Box::new(wake::make_checkpoint);
    Ok(Box::pin(nats::open_log(stream, copy.to_owned(), TakeOverMode::AtOnce, fold)).await?)
}
