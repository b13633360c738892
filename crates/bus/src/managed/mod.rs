//! A nats-server that belongs to the organism: found on PATH, started as a child that ends with this process however
//! this process ends, started again when it dies, and listened to. Its refusals and deaths are reported with their
//! counts.
//!
//! It touches no server that it did not start. It recognizes a server that an earlier life left by a lock that only
//! that server can hold. It knows nothing of rights and records: a configuration comes in as text, and reports go out
//! as text.

mod folder;
mod keeping;
mod program;
mod start_fault;
mod violation;
pub mod warden;

use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::sync::{mpsc, oneshot};

pub use folder::BrokerFolder;
pub use start_fault::BrokerStartFault;
pub use violation::KnownParty;

use keeping::{KeeperOrder, ServerKeeper};
use systole_core::types::codes::Code;
use systole_system::system;
use systole_system::tally::BrokerReporter;
use systole_system::tasks::{self, RunningTask, TaskKind};

use crate::limits;

/// The program to start, checked.
#[derive(Clone, Debug)]
pub struct ServerProgram {
    path: PathBuf,
    warden: PathBuf,
}

impl ServerProgram {
    /// The first `nats-server` on that PATH, if it is new enough.
    pub async fn find_on(path: Option<&std::ffi::OsStr>) -> Result<ServerProgram, BrokerStartFault> {
        let found = program::find_server(path)?;
        program::is_new_enough(&found).await?;
        let warden = system::find_own_program().ok_or(BrokerStartFault::NoWarden)?;
        Ok(ServerProgram { path: found, warden })
    }
}

/// A server that runs.
pub struct ManagedBroker {
    orders: mpsc::Sender<KeeperOrder>,
    task: RunningTask,
}

impl ManagedBroker {
    /// Makes room for the server: ends the server that an earlier life of the organism left in that folder, and
    /// returns an address that is free. Blocks, so call it only where blocking is allowed.
    pub fn make_room(folder: &BrokerFolder) -> Result<SocketAddr, BrokerStartFault> {
        folder.make_folders()?;
        warden::end_what_is_left(&folder.lock())?;
        folder.read_address()
    }

    /// Starts it, and waits until it is ready.
    pub async fn start_broker(
        server: ServerProgram,
        folder: &BrokerFolder,
        known: Vec<KnownParty>,
        tell: BrokerReporter,
    ) -> Result<ManagedBroker, BrokerStartFault> {
        let (ready, is_ready) = oneshot::channel();
        let (orders, ordered) = mpsc::channel(limits::ORDERS);
        let keeper = ServerKeeper::new(server, folder, known, tell.clone());
        let work = keeper.keep_running(ready, ordered);
        // A caller that waits for it to be ready sees the channel close; a later report says why it is gone for good.
        let fallen = async move |panicked: tasks::PanicMessage| {
            let words =
                format!("the keeper of the broker panicked, and does not start it again: {}", panicked.0);
            tell(Code::BusDown, words);
        };
        let started = tasks::start_apart("broker", TaskKind::Broker, work, fallen);
        let task = started.map_err(|error| BrokerStartFault::Unstartable(system::describe_error(&error)))?;
        let managed = ManagedBroker { orders, task };
        match tokio::time::timeout(limits::READY, is_ready).await {
            Ok(Ok(Ok(()))) => Ok(managed),
            Ok(Ok(Err(unstarted))) => Err(unstarted),
            Ok(Err(_)) => Err(BrokerStartFault::Unstartable("its keeper is gone".to_owned())),
            Err(_) => {
                managed.stop_broker().await;
                Err(BrokerStartFault::Slow(limits::READY))
            }
        }
    }

    /// Reports everything that was only counted so far.
    pub async fn wait_until_settled(&self) {
        let (settled, is_settled) = oneshot::channel();
        // A server that is gone has nothing to report.
        if self.orders.send(KeeperOrder::Settle(settled)).await.is_ok() {
            let _gone = is_settled.await;
        }
    }

    /// Ends it, and waits for its end.
    pub async fn stop_broker(self) {
        drop(self.orders);
        self.task.wait_for_end().await;
    }
}
