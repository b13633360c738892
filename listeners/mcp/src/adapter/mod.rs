//! The program between the pump and one server: it starts the server, compares its tools with the pinned ones, and
//! turns deliveries into calls.
//!
//! It ends when its stdin ends, when the server ends, and when the server's tools are not the pinned ones any more. The
//! pump reports its last words, starts it again, and decides about deliveries that had no answer. So this program keeps
//! nothing.

mod answer;
mod asked;
mod pump;
mod server;
mod work;

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Write as _};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use systole_kit::reply::{ListenerDocument, ReplyContent};
use systole_kit::told::PumpDocument;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::client::McpConnection;
use crate::pinned;
use crate::schema::{ListDifference, PinFile, ToolVocabulary};
use pump::FromPump;
use server::{ServerProcess, StartedServer};
use work::{OpenDeliveries, Work};

pub use answer::MCP;
pub use asked::pin_of;

/// The most documents that wait for the pump to read them.
const WAITING: usize = 64;

/// A server to stand in front of.
pub struct AdapterOrder {
    /// The name of the listener.
    pub server: String,
    /// The text of its pin.
    pub pin: Vec<u8>,
    /// The program of the server, and its arguments.
    pub run: Vec<String>,
}

/// Serves the pump on stdin and stdout until one of the two sides ends.
#[must_use]
pub fn serve(order: &AdapterOrder) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(whole(order));
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
async fn whole(order: &AdapterOrder) -> Result<(), String> {
    let pin = PinFile::read(&order.pin).map_err(|fault| format!("config.unpinned: {fault}"))?;
    let vocabulary = pinned::vocabulary(&order.server, &pin, BTreeSet::new());
    let vocabulary = vocabulary.map_err(|fault| format!("config.unpinned: {fault}"))?;
    let revision = pinned::revision(&pin)
        .ok_or_else(|| format!("config.unpinned: its revision is {}, which is not known", pin.revision))?;
    let mut pump = FromPump::new(tokio::io::stdin());
    let StartedServer { mut process, stdin, stdout } = ServerProcess::start(&order.run)?;
    let mut early = VecDeque::new();
    let connection = {
        let mut connecting = pin!(McpConnection::over(stdout, stdin, revision));
        loop {
            tokio::select! {
                connected = &mut connecting => {
                    break connected.map_err(|fault| format!("mcp.unreachable: {fault}"))?;
                }
                how = process.ended() => return Err(format!("the MCP server ended before it answered: {how}")),
                told = pump.next() => match told.map_err(|error| error.to_string())? {
                    Some(document) => early.push_back(document),
                    None => return Ok(()),
                },
            }
        }
    };
    let served = serve_calls(connection, (&pin, vocabulary), &mut pump, early, &mut process).await;
    process.end().await;
    served
}

/// Serves until the pump is gone or the server cannot be used any more.
async fn serve_calls<R: tokio::io::AsyncRead + Unpin>(
    connection: McpConnection,
    (pin, vocabulary): (&PinFile, ToolVocabulary),
    pump: &mut FromPump<R>,
    mut early: VecDeque<PumpDocument>,
    process: &mut ServerProcess,
) -> Result<(), String> {
    compared(&connection, pin).await?;
    let (said, mut to_say) = mpsc::channel::<ListenerDocument>(WAITING);
    let work = Arc::new(Work { connection, vocabulary, said });
    let mut open = OpenDeliveries::default();
    let mut calls: JoinSet<(String, ReplyContent)> = JoinSet::new();
    let mut output = tokio::io::stdout();
    loop {
        while let Some(document) = early.pop_front() {
            match document {
                PumpDocument::Delivery(asked) => {
                    let cancelled = open.begin(&asked.stamp.delivery);
                    calls.spawn(work.clone().answered(*asked, cancelled));
                }
                PumpDocument::Cancel { delivery } => open.cancel(&delivery),
                PumpDocument::Answer(_) | PumpDocument::Receipt(_) => {}
            }
        }
        tokio::select! {
            told = pump.next() => match told.map_err(|error| error.to_string())? {
                Some(document) => early.push_back(document),
                None => return Ok(()),
            },
            Some(word) = to_say.recv() => {
                pump::say(&mut output, &word).await.map_err(|error| error.to_string())?;
            }
            Some(call) = calls.join_next() => {
                let (delivery, said) = call.map_err(|error| format!("a call broke off: {error}"))?;
                // Progress and notices of this delivery come before its reply.
                while let Ok(word) = to_say.try_recv() {
                    pump::say(&mut output, &word).await.map_err(|error| error.to_string())?;
                }
                open.end(&delivery);
                let reply = ListenerDocument::Reply { delivery, said };
                pump::say(&mut output, &reply).await.map_err(|error| error.to_string())?;
            }
            how = process.ended() => return Err(format!("the MCP server ended: {how}")),
            () = work.connection.over_now() => {
                return Err(format!("the MCP server cannot be used: {}", work.connection.end()));
            }
            () = work.connection.changed() => compared(&work.connection, pin).await?,
        }
    }
}

/// Compares the server's tools with the pinned ones.
async fn compared(connection: &McpConnection, pin: &PinFile) -> Result<(), String> {
    let tools = connection.tools().await.map_err(|fault| format!("mcp.unreachable: {fault}"))?;
    let difference = ListDifference::between(&pin.tools, &pinned::definitions(&tools));
    if difference.is_empty() {
        return Ok(());
    }
    Err(format!("mcp.changed: the server's tools are not those that were pinned\n{difference}"))
}
