//! Why a managed server does not start, in words for the person who runs the organism: what was tried, and what to
//! change. The server's own words are cut to a line and contain no key.

use std::path::PathBuf;
use std::time::Duration;

use systole_core::types::codes::Code;
use systole_system::system::FileFault;

/// Why it does not start.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each case names its parts")]
pub enum BrokerStartFault {
    /// There is no such program.
    #[error("there is no nats-server to start: looked for in {looked}")]
    Missing { looked: String },
    /// It is a different program, or does not run.
    #[error("{} does not say which version of nats-server it is: {why}", program.display())]
    Strange { program: PathBuf, why: String },
    /// It is older than what the pump relies on.
    #[error("{} is nats-server {version}, at least 2.12 is needed", program.display())]
    Old { program: PathBuf, version: String },
    /// The program that starts it and holds its lock is missing.
    #[error("the broker cannot be started: there is no program systole beside this one")]
    NoWarden,
    /// A fault with one of its files or folders.
    #[error("{}", .0.words)]
    Hindered(FileFault),
    /// The file of its address has other content.
    #[error("{} holds no address of the broker: it is nats://127.0.0.1:PORT", file.display())]
    Address { file: PathBuf },
    /// Another process uses its address.
    #[error("{address}, where the broker of this organism listens, is taken by another program")]
    Taken { address: String, file: PathBuf },
    /// A process other than the server that took it holds its lock.
    #[error("{} is held by a process that is not this organism's broker", lock.display())]
    Held { lock: PathBuf },
    /// A server that an earlier life left does not end.
    #[error("the broker that an earlier run left, process {pid}, does not end")]
    Stuck { pid: u32 },
    /// The operating system's error.
    #[error("nats-server cannot be started: {0}")]
    Unstartable(String),
    /// It ended right after it started.
    #[error("nats-server ended before it was ready: {0}")]
    Ended(String),
    /// It does not answer.
    #[error("nats-server was not ready within {} s", .0.as_secs())]
    Slow(Duration),
}

impl BrokerStartFault {
    /// The code in the table.
    pub fn code(&self) -> Code {
        match self {
            BrokerStartFault::Old { .. } | BrokerStartFault::Strange { .. } => Code::BusUnfit,
            _ => Code::BusDown,
        }
    }

    /// What to change.
    pub fn fix(&self) -> String {
        let fix = match self {
            BrokerStartFault::Missing { .. } => {
                "nats-server 2.12 or newer in a folder of PATH, or under bus.nats the address of one that runs"
            }
            BrokerStartFault::Strange { .. } => "nats-server 2.12 or newer, before that program on PATH",
            BrokerStartFault::Old { .. } => "nats-server 2.12 or newer, before it on PATH",
            BrokerStartFault::NoWarden => "the program systole as it was installed",
            BrokerStartFault::Hindered(hindered) => hindered.fix,
            BrokerStartFault::Address { .. } => {
                "an address of that form, or remove the file: another address is chosen then"
            }
            BrokerStartFault::Taken { file, .. } => {
                return format!(
                    "end the program that listens there, or write another port into {} and tell the listeners",
                    file.display()
                );
            }
            BrokerStartFault::Held { .. } => "end the process that has that file open",
            BrokerStartFault::Stuck { pid } => return format!("kill -9 {pid}, then start again"),
            BrokerStartFault::Unstartable(_) => "run it again; if it fails again, systole doctor",
            BrokerStartFault::Ended(_) => {
                "read its message; `nats-server -c` with its nats.conf, by hand, says more"
            }
            BrokerStartFault::Slow(_) => {
                "a disk that other work does not slow down; the broker reads its data at the start"
            }
        };
        fix.to_owned()
    }
}

impl From<FileFault> for BrokerStartFault {
    fn from(hindered: FileFault) -> BrokerStartFault {
        BrokerStartFault::Hindered(hindered)
    }
}
