//! `systole witness serve`: cosigns the checkpoints of the logs of others over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;
use systole_proof::key::{SignatureKind, VerifierKey};

use super::exit::CommandExit;
use super::screen::Screen;
use super::signals::Signals;
use super::{local_organism, system_faults};
use systole_doors::http::{self, HttpDoorFault};
use systole_doors::witness_door::WitnessDoor;
use systole_system::{signing_key, system};
use systole_witness::witness_book::WitnessBook;

/// What a witness does.
#[derive(Subcommand, Debug)]
pub(super) enum WitnessCommand {
    /// Cosign checkpoints of the logs of others, over HTTP
    #[command(after_help = "Examples:
  systole witness serve --key watch.key --add VKEY
  systole witness serve --key watch.key --add VKEY --listen 192.0.2.7:8080")]
    Serve(ServeCommand),
}

/// Cosigns checkpoints of the logs of others, over HTTP.
///
/// A log is cosigned if it continues the last checkpoint that this witness cosigned. What it cosigned is
/// stored beside the key before the answer is sent. Use one such file for one key, for ever.
#[derive(Args, Debug)]
pub(super) struct ServeCommand {
    /// The file of the key, from systole keygen --witness
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The key of a log to cosign, as its keygen printed it
    #[arg(long = "add", value_name = "VKEY", required = true)]
    logs: Vec<String>,
    /// Where it listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// What it has cosigned (the key's file with .cosigned behind)
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl WitnessCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let WitnessCommand::Serve(serve) = self;
        let screen = Screen::new(serve.json);
        local_organism::with_runtime(screen, serve.run(screen))
    }
}

impl ServeCommand {
    async fn run(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        let mut signals = Signals::listen_as_server(screen)?;
        let key = signing_key::read_key(&self.key)
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Usage, &fault))?;
        if key.verifier().kind() != SignatureKind::Cosignature {
            let words = format!("{}: this is the key of a log", self.key.display());
            return Err(screen.refuse(words, "a key of its own for the witness: systole keygen --witness"));
        }
        let logs = self.logs.iter().map(|text| parse_log_key(screen, text)).collect::<Result<Vec<_>, _>>()?;
        let state = self.state.clone().unwrap_or_else(|| {
            let mut beside = self.key.clone().into_os_string();
            beside.push(".cosigned");
            beside.into()
        });
        let public = key.verifier().to_string();
        let book = WitnessBook::open_book(key, &logs, state.clone())
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Unavailable, &fault))?;
        let bound = http::bind_address(self.listen).await.map_err(|fault| {
            let words = match fault {
                HttpDoorFault::InUse(address) => format!("{address} is in use by another program"),
                HttpDoorFault::Machine(address, error) => {
                    format!("cannot listen on {address}: {}", system::describe_error(&error))
                }
            };
            screen.fail_with(CommandExit::Unavailable, words, "--listen with another address or port")
        })?;
        let address = bound.local_addr().map_err(|error| {
            system_faults::report_missing(screen, "the address that is listened on", &error)
        })?;
        let known: Vec<(String, u64)> = book.logs().map(|(origin, size)| (origin.to_owned(), size)).collect();
        let door = WitnessDoor::open(bound, book, Arc::new(move |words| screen.say(words)));
        if screen.json {
            let logs = known.iter().map(|(origin, size)| json!({"origin": origin, "size": size}));
            screen.show_value(&json!({
                "listen": address.to_string(), "key": public, "state": state.display().to_string(),
                "logs": logs.collect::<Vec<_>>(),
            }));
        } else {
            screen.show(&public);
        }
        for (origin, size) in known {
            match size {
                0 => screen.say(format!("cosigns {origin}, from its first checkpoint on")),
                size => screen.say(format!("cosigns {origin}, after its checkpoint at #{size}")),
            }
        }
        screen.say(format!("it listens on http://{address}; logs name that under proof.to"));
        if !address.ip().is_loopback() {
            screen.say("other machines reach it: anyone may ask, and only the logs above are cosigned");
        }
        let exit = signals.next().await;
        door.close().await;
        screen.say("stopped");
        Ok(exit)
    }
}

fn parse_log_key(screen: Screen, text: &str) -> Result<VerifierKey, CommandExit> {
    let refused = |words: String| {
        let words = format!("--add: {words}");
        screen.refuse(words, "the line that systole keygen printed for the log, NAME+ID+BASE64")
    };
    let key = VerifierKey::parse(text).map_err(|fault| refused(fault.to_string()))?;
    match key.kind() {
        SignatureKind::Plain => Ok(key),
        SignatureKind::Cosignature => {
            Err(refused(format!("{} is the key of a witness, and not of a log", key.name())))
        }
    }
}
