//! Copies a log from NATS for a reader: on the pump's machine while nothing runs there, or for an auditor, whose key
//! allows only reading. It starts no organism, takes over no log, and writes only the copy.

use std::path::Path;
use std::sync::Arc;

use super::plan::StartFault;
use systole_bus::{BrokerCredentials, BrokerFault, BrokerSubjects, LogCaller, LogSource, PATIENCE};
use systole_core::pump::wake;
use systole_core::types::ids::Name;
use systole_core::types::ports::LogFault;
use systole_log::nats::{self, CurrentCopy, StageReporter};
use systole_log::sqlite;

/// A log in NATS, and who asks for a copy of it.
pub struct CopyRequest<'a> {
    /// The organism.
    pub organism: &'a Name,
    /// The broker.
    pub url: &'a str,
    /// The reader's credentials. `None` if the broker needs none.
    pub credentials: Option<BrokerCredentials>,
    /// Whether to try an auditor's rights before the pump's.
    pub by_auditor: bool,
}

/// Updates the copy at that path, or makes a new one.
pub async fn update_copy(
    asked: &CopyRequest<'_>,
    copy: &Path,
    again: bool,
    tell: StageReporter<'_>,
) -> Result<CurrentCopy, StartFault> {
    let CopyRequest { organism, url, credentials, by_auditor } = asked;
    let first = if *by_auditor { LogCaller::Auditor } else { LogCaller::Pump };
    let source = match LogSource::find_log(organism, url, credentials.as_ref(), first, PATIENCE).await {
        Ok(source) => Arc::new(source),
        // A copy with records proves that a stream existed.
        Err(BrokerFault::Absent { .. }) if sqlite::read_followed(copy)?.is_some() => {
            let (path, copy) = (BrokerSubjects::new(organism).log_stream(), copy.display().to_string());
            let why = format!("it is not there any more, and the copy {copy} is not empty");
            return Err(LogFault::Apart { path, why }.into());
        }
        Err(unusable) => return Err(unusable.into()),
    };
    let fold = Box::new(wake::make_checkpoint);
    let brought = if again {
        Box::pin(nats::bring_again(source, copy, fold, tell)).await
    } else {
        Box::pin(nats::bring_copy(source, copy, fold, tell)).await
    };
    Ok(brought?)
}
