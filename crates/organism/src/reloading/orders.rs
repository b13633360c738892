//! Orders to reload, as a door leaves them, and their answers: what the reload changes.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use systole_config::ConfigChange;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::refusal::Refusal;

/// What a client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReloadRequest {
    /// The client.
    pub by: Name,
    /// The configuration.
    pub source: ReloadSource,
    /// How long deliveries that are out may take before they are taken for lost.
    pub drain: Duration,
    /// The configuration that the client agrees to, if it looked first: another one is refused.
    pub approved: Option<Digest>,
    /// Whether it only asks what would change.
    pub is_shown: bool,
}

/// Where a configuration comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReloadSource {
    /// The organism's file, as it is now.
    File,
    /// Another file.
    OtherFile(PathBuf),
    /// The log: the configuration before the last reload or start.
    Back,
}

/// What a reload would change, or does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReloadPreview {
    /// The hash of the configuration.
    pub config: String,
    /// The hash of the one that runs.
    pub before: String,
    /// The keys and files that differ, and that a reload takes over.
    pub reload: Vec<String>,
    /// Those for which the organism has to be stopped and started.
    pub restart: Vec<String>,
}

impl ReloadPreview {
    /// What would change.
    pub fn new(config: Digest, before: Digest, changes: Vec<ConfigChange>) -> ReloadPreview {
        let (restart, reload): (Vec<_>, Vec<_>) = changes.into_iter().partition(|one| one.needs_restart);
        let names = |changes: Vec<ConfigChange>| changes.into_iter().map(|one| one.what).collect();
        ReloadPreview {
            config: config.to_string(),
            before: before.to_string(),
            reload: names(reload),
            restart: names(restart),
        }
    }
}

/// An order that waits for its answer.
pub struct ReloadOrder {
    /// What is asked for.
    pub request: ReloadRequest,
    answer: oneshot::Sender<Result<ReloadPreview, Box<Refusal>>>,
}

impl ReloadOrder {
    /// Answers it.
    pub fn answer_with(self, answer: Result<ReloadPreview, Box<Refusal>>) {
        // A client that hung up wants no answer; what it ordered is done all the same.
        let _wanted = self.answer.send(answer);
    }
}

/// Where doors leave orders.
#[derive(Clone, Debug)]
pub struct ReloadDesk(mpsc::Sender<ReloadOrder>);

impl ReloadDesk {
    /// A desk, and the end at which its orders come out.
    pub fn open() -> (ReloadDesk, mpsc::Receiver<ReloadOrder>) {
        let (orders, taken) = mpsc::channel(1);
        (ReloadDesk(orders), taken)
    }

    /// Leaves an order and waits for its answer. `None` if the organism stops.
    pub async fn leave(&self, request: ReloadRequest) -> Option<Result<ReloadPreview, Box<Refusal>>> {
        let (answer, answered) = oneshot::channel();
        self.0.send(ReloadOrder { request, answer }).await.ok()?;
        answered.await.ok()
    }
}
