//! The helper: the program `systole`, started with `WORD`, that restricts itself and then is or starts the program.
//!
//! Two processes, and a third one if the policy has addresses of the network: the proxy. The one outside stays, counts what
//! the sandbox uses, and mirrors how the program ended; the one inside restricts itself for good. Neither of the two has a
//! thread, and neither starts the program if a restriction fails: the reason goes to stderr, and the exit is `REFUSED`.

mod address_space;
mod attempts;
mod capabilities;
mod counting;
mod failure;
mod inside;
mod limits;
mod memory;
mod network;
mod order;
mod outside;
mod places;
mod proxy;
mod root;
mod rules;
mod status;
mod syscalls;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

pub(crate) use attempts::{TRY, TrialAttempt, TrialOrder};
pub(crate) use order::EntryOrder;
pub use order::WORD;
pub(crate) use rules::read_landlock_abi;

use failure::explain_failure;
use order::PROXY;

/// The exit of a helper that could not enter the sandbox.
const REFUSED: u8 = 125;

/// Runs the helper. The arguments are those after `WORD`. Must be called before the process has a second thread.
pub fn enter_sandbox(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut text = || arguments.next().and_then(|argument| argument.into_string().ok());
    let stage = text();
    let ended = match (stage.as_deref(), text()) {
        (Some("outside"), Some(order)) => {
            read_order(&order).and_then(|parsed| outside::run_outside(&parsed, &order, arguments.collect()))
        }
        // The program can read these arguments, so the order itself comes through a pipe.
        (Some("inside"), number) => {
            let (pipe, port) = (text(), text().and_then(|port| port.parse().ok()));
            let order = status::read_order(number.as_deref()).and_then(|order| read_order(&order));
            order.and_then(|order| inside::run_inside(&order, (pipe.as_deref(), port), arguments.collect()))
        }
        (Some(PROXY), Some(list)) => proxy::run_proxy(&list),
        (Some(TRY), Some(order)) => attempts::run_trial(&order),
        _ => Err("it was started without an order".to_owned()),
    };
    ended.unwrap_or_else(|why| {
        // If no one reads, no one waits for this program.
        let _unread = writeln!(std::io::stderr(), "sandbox: not started: {why}");
        ExitCode::from(REFUSED)
    })
}

fn read_order(order: &str) -> Result<EntryOrder, String> {
    serde_json::from_str(order).map_err(|error| format!("its order cannot be read: {error}"))
}
