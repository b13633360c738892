//! `systole listener mock-model`: a provider of models that answers from a script, until a signal. The mock is in a
//! separate crate that knows nothing of us; this module has its options, its address and its end.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use systole_mock_model::{MockModel, Options, Script};

use crate::cli::exit::Exit;
use crate::cli::here;
use crate::cli::screen::Screen;
use crate::cli::signals::Signals;

/// Answers as a provider of models does, from a script.
///
/// Speaks the wire of OpenAI, Anthropic, Ollama and Gemini, refuses what they refuse, and fails as the script
/// says. The first line on stdout is the address. `GET /seen` and `GET /count` say what was asked.
#[derive(Args, Debug)]
pub(in crate::cli) struct Mock {
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

impl Mock {
    pub(in crate::cli) fn run(self) -> Exit {
        let screen = Screen::of_process(false);
        here::with_runtime(screen, async { self.whole(screen).await.unwrap_or_else(|exit| exit) })
    }

    async fn whole(self, screen: Screen) -> Result<Exit, Exit> {
        let script = Script::read(&self.script).map_err(|bad| screen.fail(Exit::Configuration, bad))?;
        // Signal handling starts before the address is printed: a reader of the address may send a signal at once.
        let mut signals = Signals::of_server(screen)?;
        let Mock { listen, window, key, model: models, log, script: _ } = self;
        let options = Options { listen, window, key, models, log };
        let mock =
            MockModel::start(script, options).map_err(|error| screen.fail(Exit::Unavailable, error))?;
        screen.show(&format!("listens on {}", mock.url()));
        let exit = signals.next().await;
        let asked = mock.stop().len();
        screen.say(match asked {
            1 => "stopped; 1 request was asked".to_owned(),
            _ => format!("stopped; {asked} requests were asked"),
        });
        Ok(exit)
    }
}
