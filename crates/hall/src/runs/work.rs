//! Work that goes on when its client leaves, and reading of the log without blocking.

use systole_core::types::codes::Code;
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::oneshot;

use crate::http_state::HttpState;
use crate::request_refusals::describe_stopping;
use systole_core::types::ids::Name;
use systole_doorway::{PlaceShortage, SharedPlace};

/// Does work to its end, also if the client that waits for it leaves.
pub async fn finish_work<T: Send + 'static, E: From<Box<Refusal>> + Send + 'static>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    let (sender, done) = oneshot::channel();
    let work = async move {
        let _left = sender.send(work.await);
    };
    let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
    done.await.unwrap_or_else(|_| Err(Box::new(describe_stopping()).into()))
}

/// A place among those who follow runs. An error says why there is none.
pub fn take_run_place(state: &HttpState, client: &Name) -> Result<SharedPlace, String> {
    state.followers.take_place(client).map_err(|shortage| match shortage {
        PlaceShortage::Own(most) => {
            format!("{client} follows {most} runs already, the most for one client")
        }
        PlaceShortage::All(most) => format!("{most} runs are followed already, the most for all"),
    })
}

/// What can be asked again later.
pub fn describe_later(words: String) -> Box<Refusal> {
    Box::new(Refusal::new(Code::IngressUnavailable, words).fixed_by("send it again later"))
}

/// That the log cannot be read.
pub fn unread(fault: LogFault) -> Box<Refusal> {
    describe_later(format!("the log cannot be read: {fault}"))
}

/// Reads the log without blocking.
pub async fn read_blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, LogFault> + Send + 'static,
) -> Result<T, Box<Refusal>> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|end| describe_later(end.to_string()))?.map_err(unread)
}
