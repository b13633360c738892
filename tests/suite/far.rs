//! A log in a stream of a real broker, for tests of the log alone: several pumps may open it, each with its own copy.

use std::path::Path;

use systole_bus::{Broker, LogStream, PATIENCE};
use systole_core::pump::wake;
use systole_core::types::ids::Name;
use systole_log::nats::{self, NatsLogFault, OpenNatsLog, TakeOverMode};
use tokio::runtime::{Handle, Runtime};

use crate::broker::NatsServer;

/// A broker, and the runtime of its connections.
pub(crate) struct Far {
    pub(crate) server: NatsServer,
    pub(crate) runtime: Runtime,
}

impl Far {
    pub(crate) fn start() -> Far {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Far { server: NatsServer::start(), runtime: runtime.unwrap() }
    }

    /// Opens the log as a pump with this copy does; it does not wait for another pump to fall silent.
    pub(crate) fn open(&self, copy: &Path) -> Result<OpenNatsLog, NatsLogFault> {
        open_in(self.runtime.handle(), &self.server.url(), copy, TakeOverMode::AtOnce)
    }
}

/// The same for another thread.
pub(crate) fn open_in(
    runtime: &Handle,
    url: &str,
    copy: &Path,
    manner: TakeOverMode,
) -> Result<OpenNatsLog, NatsLogFault> {
    open_copies(runtime, url, copy, manner, 1)
}

/// The same in a cluster that keeps this many copies.
pub(crate) fn open_copies(
    runtime: &Handle,
    url: &str,
    copy: &Path,
    manner: TakeOverMode,
    copies: usize,
) -> Result<OpenNatsLog, NatsLogFault> {
    runtime.block_on(async {
        let shop = Name::parse("shop").unwrap();
        let broker = Broker::connect_to_cluster(&shop, url, None, copies, PATIENCE).await?;
        let stream = LogStream::find_or_make(broker.into(), &shop, copies).await?;
        Box::pin(nats::open_log(stream, copy.to_owned(), manner, Box::new(wake::make_checkpoint))).await
    })
}
