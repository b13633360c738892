//! A log in a stream of a real broker, for tests of the log alone: several pumps may open it, each with its own copy.

use std::path::Path;

use systole::edges::log::nats::{self, Manner, Opened, Unopened};
use systole::edges::nats::{Broker, LogStream};
use systole::words::ids::Name;
use tokio::runtime::Runtime;

use crate::broker::Server;
use crate::program::PATIENCE;

/// A broker, and what carries what is sent to it.
pub(crate) struct Far {
    pub(crate) server: Server,
    pub(crate) runtime: Runtime,
}

impl Far {
    pub(crate) fn start() -> Far {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Far { server: Server::start(), runtime: runtime.unwrap() }
    }

    /// Opens the log as a pump does that has this copy; it does not wait for another one to fall silent.
    pub(crate) fn open(&self, copy: &Path) -> Result<Opened, Unopened> {
        self.open_in(copy, Manner::AtOnce)
    }

    pub(crate) fn open_in(&self, copy: &Path, manner: Manner) -> Result<Opened, Unopened> {
        self.runtime.block_on(async {
            let shop = Name::parse("shop").unwrap();
            let broker = Broker::connect(&shop, &self.server.url(), None, PATIENCE).await?;
            let stream = LogStream::find_or_make(broker.into(), &shop, 1).await?;
            nats::open(stream, copy.to_owned(), manner).await
        })
    }
}
