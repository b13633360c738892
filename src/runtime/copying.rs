//! A copy of a log in NATS for whoever reads it: the pump's machine while nothing runs there, or an auditor's, whose key
//! may read and nothing else. It starts no organism, takes no log over, and writes nothing but the copy.

use std::path::Path;
use std::sync::Arc;

use super::running::StartFault;
use crate::edges::log::nats::{self, Brought, Tell};
use crate::edges::log::sqlite;
use crate::edges::nats::{Caller, Credentials, LogSource, PATIENCE, Subjects, Unusable};
use systole_core::pump::wake;
use systole_core::types::ids::Name;
use systole_core::types::ports::LogFault;

/// Where a log in NATS is, and who asks for a copy of it.
pub struct Asked<'a> {
    /// Whose log.
    pub organism: &'a Name,
    /// The broker.
    pub url: &'a str,
    /// What lets in who asks; none where the broker lets in everybody.
    pub credentials: Option<Credentials>,
    /// Whether an auditor's rights are tried before the pump's.
    pub by_auditor: bool,
}

/// Brings the copy at that path up to date, or makes it again.
pub async fn copy(
    asked: &Asked<'_>,
    copy: &Path,
    again: bool,
    tell: Tell<'_>,
) -> Result<Brought, StartFault> {
    let Asked { organism, url, credentials, by_auditor } = asked;
    let first = if *by_auditor { Caller::Auditor } else { Caller::Pump };
    let source = match LogSource::find(organism, url, credentials.as_ref(), first, PATIENCE).await {
        Ok(source) => Arc::new(source),
        // What a copy holds was in a stream.
        Err(Unusable::Absent { .. }) if sqlite::followed(copy)?.is_some() => {
            let (path, copy) = (Subjects::of(organism).log_stream(), copy.display().to_string());
            let why = format!("it is not there any more, and the copy {copy} is not empty");
            return Err(LogFault::Apart { path, why }.into());
        }
        Err(unusable) => return Err(unusable.into()),
    };
    let fold = Box::new(wake::checkpoint);
    let brought = if again {
        Box::pin(nats::bring_again(source, copy, fold, tell)).await
    } else {
        Box::pin(nats::bring(source, copy, fold, tell)).await
    };
    Ok(brought?)
}
