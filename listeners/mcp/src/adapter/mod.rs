//! The program between the pump and one server: it starts the server, compares its tools with the pinned ones, and
//! turns deliveries into calls.
//!
//! It ends when its stdin ends, when the server ends, and when the server's tools are not the pinned ones any more. The
//! pump reports its last words, starts it again, and decides about deliveries that had no answer. So this program keeps
//! nothing.

mod answer;
mod asking;
mod comparing;
mod form;
mod server;
mod tool_listing;
mod work;
mod written_form;

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use systole_kit::pipe::{FromPump, answer_at_once};

use crate::client::Revision;
use crate::pinned_server;
use crate::schema::PinFile;
use asking::WaitingCalls;
use comparing::{ComparisonFault, PinnedTools};
use server::{ServerProcess, StartedServer};
use work::AdapterWork;

pub use answer::MCP;
pub use server::ServerPlace;
pub use tool_listing::pin_of;
pub use written_form::fill_form;

/// A server to stand in front of.
pub struct AdapterOrder {
    /// The name of the listener.
    pub server: String,
    /// The text of its pin.
    pub pin: Vec<u8>,
    /// Where the server is.
    pub place: ServerPlace,
}

/// Serves the pump on stdin and stdout until one of the two sides ends.
#[must_use]
pub fn serve(order: &AdapterOrder) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(start_and_serve(order));
            // A read of stdin that still waits would hold the program.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(error.to_string()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            // If stderr is gone, no one can read the message.
            let _gone = writeln!(io::stderr(), "{words}");
            ExitCode::FAILURE
        }
    }
}

/// Starts the server and serves. An error is the last word of this program.
async fn start_and_serve(order: &AdapterOrder) -> Result<(), String> {
    let pin = PinFile::from_text(&order.pin).map_err(|fault| format!("config.unpinned: {fault}"))?;
    let vocabulary = pinned_server::build_vocabulary(&order.server, &pin, BTreeSet::new());
    let vocabulary = vocabulary.map_err(|fault| format!("config.unpinned: {fault}"))?;
    let revision = Revision::from_date(&pin.revision)
        .ok_or_else(|| format!("config.unpinned: its revision is {}, which is not known", pin.revision))?;
    let mut pump = FromPump::new(tokio::io::stdin());
    let StartedServer { mut process, reached } = StartedServer::start(&order.place)?;
    let connection = {
        let mut connecting = pin!(reached.connect(revision));
        loop {
            tokio::select! {
                connected = &mut connecting => {
                    break connected.map_err(|fault| format!("mcp.unreachable: {fault}"))?;
                }
                how = process.wait_for_end() => return Err(format!("the MCP server ended before it answered: {how}")),
                is_there = pump.keep_next() => {
                    if !is_there.map_err(|error| error.to_string())? {
                        return Ok(());
                    }
                }
            }
        }
    };
    let (pinned, name) = (PinnedTools::new(pin), order.server.clone());
    let work = AdapterWork { name, connection, vocabulary, pinned, waiting: WaitingCalls::default() };
    let served = serve_calls(Arc::new(work), &mut pump, &mut process).await;
    process.end().await;
    served
}

/// Serves until the pump is gone or the server cannot be used any more.
async fn serve_calls<R: tokio::io::AsyncRead + Unpin>(
    work: Arc<AdapterWork>,
    pump: &mut FromPump<R>,
    process: &mut ServerProcess,
) -> Result<(), String> {
    compare_tools(&work).await?;
    let serving =
        answer_at_once(pump, tokio::io::stdout(), |asked, line| work.clone().answer_delivery(asked, line));
    let comparing = async {
        loop {
            work.connection.wait_for_change().await;
            if let Err(words) = compare_tools(&work).await {
                return words;
            }
        }
    };
    tokio::select! {
        served = serving => served.map_err(|error| error.to_string()),
        how = process.wait_for_end() => Err(format!("the MCP server ended: {how}")),
        () = work.connection.over_now() => {
            Err(format!("the MCP server cannot be used: {}", work.connection.end()))
        }
        words = comparing => Err(words),
        words = work.pinned.wait_for_change() => Err(words),
    }
}

/// Compares the server's tools with the pinned ones.
async fn compare_tools(work: &AdapterWork) -> Result<(), String> {
    work.pinned.check_now(&work.connection).await.map_err(|fault| match fault {
        ComparisonFault::Unreachable(words) => format!("mcp.unreachable: {words}"),
        ComparisonFault::Changed(words) => words,
    })
}
