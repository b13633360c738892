//! The program `systole-mock-model`: a provider of models that answers from a script, until a signal ends it.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use systole_mock_model::{MockModel, MockOptions, MockScript};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The script is refused.
const SCRIPT: u8 = 3;
/// The address or the file of requests cannot be used.
const UNAVAILABLE: u8 = 5;
/// Ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Answers as a provider of models does, from a script.
///
/// Speaks the wire of OpenAI, Anthropic, Ollama and Gemini, refuses what they refuse, and fails as the script
/// says. The first line on stdout is the address. `GET /seen` and `GET /count` say what was asked.
#[derive(Parser, Debug)]
#[command(name = "systole-mock-model", version)]
struct Mock {
    /// What is answered, in order
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Where it listens, on this machine alone; port 0 is one that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    listen: SocketAddr,
    /// Refuse requests of more tokens than this
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// Refuse every key but this one
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Refuse every model but this one; may be given more than once
    #[arg(long, value_name = "NAME")]
    model: Vec<String>,
    /// Append each request to this file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Reads an address that only this machine reaches, because the mock has no TLS and takes any key.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "an address is written as 127.0.0.1:8080".to_owned())?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!("other machines reach {}; 127.0.0.1:{} is this one's own", address.ip(), address.port()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve(Mock::parse()).await {
        Ok(exit) => ExitCode::from(exit),
        Err((exit, words)) => {
            say(&format!("error: {words}"));
            ExitCode::from(exit)
        }
    }
}

async fn serve(mock: Mock) -> Result<u8, (u8, String)> {
    let script = MockScript::read(&mock.script).map_err(|bad| (SCRIPT, bad.to_string()))?;
    // A reader of the address may send a signal at once.
    let (mut interrupt, mut terminate) = (heard(SignalKind::interrupt())?, heard(SignalKind::terminate())?);
    let Mock { listen, window, key, model: models, log, script: _ } = mock;
    let options = MockOptions { listen, window, key, models, log };
    let mock = MockModel::start(script, options).map_err(|error| (UNAVAILABLE, error.to_string()))?;
    // Without a reader the mock still answers.
    let _reader_left = writeln!(io::stdout(), "listens on {}", mock.url());
    let exit = tokio::select! {
        _ = interrupt.recv() => INTERRUPTED,
        _ = terminate.recv() => 0,
    };
    let asked = mock.stop().len();
    say(&match asked {
        1 => "stopped; 1 request was asked".to_owned(),
        _ => format!("stopped; {asked} requests were asked"),
    });
    Ok(exit)
}

fn heard(kind: SignalKind) -> Result<Signal, (u8, String)> {
    signal(kind).map_err(|error| (UNAVAILABLE, format!("the signals that end it: {error}")))
}

fn say(line: &str) {
    let _reader_left = writeln!(io::stderr(), "{line}");
}
