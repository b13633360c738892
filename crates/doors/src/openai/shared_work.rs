//! What chats and responses have in common: work that goes on when its client leaves, reading of the log, and the headers
//! of an answer.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use systole_core::types::ports::LogFault;
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::oneshot;

use super::fault::{OpenaiFault, refuse_later};
use crate::request_refusals::describe_stopping;

/// Does work to its end, also if the client that waits for it leaves.
pub(super) async fn finish_work<T: Send + 'static>(
    work: impl Future<Output = Result<T, OpenaiFault>> + Send + 'static,
) -> Result<T, OpenaiFault> {
    let (sender, done) = oneshot::channel();
    let work = async move {
        let _left = sender.send(work.await);
    };
    let _nobody_waits = start_task(TaskKind::Chat, work, async |_| ());
    done.await.unwrap_or_else(|_| Err(OpenaiFault::from_refusal(&describe_stopping())))
}

/// That the log cannot be read.
pub(super) fn unread(fault: LogFault) -> OpenaiFault {
    refuse_later(format!("the log cannot be read: {fault}"))
}

/// Reads the log without blocking.
pub(super) async fn read_blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, LogFault> + Send + 'static,
) -> Result<T, OpenaiFault> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|end| refuse_later(end.to_string()))?.map_err(unread)
}

/// The thread of an answer, and the keys of its request that change nothing.
pub(super) fn write_headers(thread: &str, ignored: &str) -> HeaderMap {
    let told = [("systole-thread", thread), ("systole-ignored", ignored)];
    let told = told.into_iter().filter(|(_, value)| !value.is_empty());
    told.filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?)))
        .collect()
}
