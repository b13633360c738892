//! The listeners that are part of this program. The carrier of programs starts them as processes of their own, so
//! that a fault in one never reaches the pump.
//!
//! A listener that reads files of others is one of them: a grammar is code of others, and a file is anybody's.
//!
//! They read deliveries from stdin and write replies to stdout, as any program does. The first argument says which
//! listener it is; the others are its own.

mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use systole_code::{CodeListener, CodeSpec};
use systole_kit::envelope::Delivered;
use systole_kit::pipe::{DeliveryLine, FromPump, answer_at_once};
use systole_kit::reply::ReplyContent;
use systole_mcp::adapter::{AdapterOrder, ServerPlace, pin_of, serve};

use super::exit::CommandExit;
use super::screen::Screen;
use systole_system::system::describe_error;

/// Becomes the listener that the first argument names.
pub(super) fn run_listener(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<String> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["mcp", pin, server, place @ ..] => run_mcp(pin, server, place),
        ["mcp-pin", place @ ..] => print_mcp_pin(place),
        ["code", root, rules @ ..] => run_code(root, rules),
        ["workspace", root, name, state, time_ms, rest @ ..] => {
            workspace::run_workspace([root, name, state, time_ms], rest)
        }
        other => report_fault(&format!("-listen-as: these words name no listener: {}", other.join(" "))),
    }
}

/// Searches a folder.
fn run_code(root: &str, rules: &[&str]) -> ExitCode {
    let deny = match RuleWords::from_words(rules) {
        Ok(rules) => rules.find_rules("deny"),
        Err(words) => return report_fault(&words),
    };
    match CodeListener::new(&CodeSpec { root: root.into(), deny }) {
        Ok(listener) => {
            let listener = Arc::new(listener);
            serve_several(move |asked, line| {
                let listener = listener.clone();
                async move {
                    tokio::select! {
                        said = listener.answer_to(asked.payload) => said,
                        () = line.wait_for_cancel() => build_cancelled("code.cancelled"),
                    }
                }
            })
        }
        Err(fault) => report_fault(&fault.to_string()),
    }
}

/// The answer to a delivery whose answer is no longer wanted.
fn build_cancelled(code: &str) -> ReplyContent {
    ReplyContent::Failure { code: code.to_owned(), retry: false, words: "it was cancelled".to_owned() }
}

/// Rules of a listener: words in pairs, a key and a pattern.
struct RuleWords<'w>(Vec<(&'w str, &'w str)>);

impl<'w> RuleWords<'w> {
    fn from_words(words: &[&'w str]) -> Result<RuleWords<'w>, String> {
        let pair = |pair: &[&'w str]| match pair {
            [key, pattern] => Ok((*key, *pattern)),
            _ => Err(format!("-listen-as: a rule has no pattern: {}", pair.join(" "))),
        };
        words.chunks(2).map(pair).collect::<Result<_, _>>().map(RuleWords)
    }

    fn find_rules(&self, key: &str) -> Vec<String> {
        self.0.iter().filter(|(own, _)| *own == key).map(|(_, pattern)| (*pattern).to_owned()).collect()
    }
}

/// Serves the pump on stdin and stdout with a listener that answers several deliveries at once.
fn serve_several<A: Future<Output = ReplyContent> + Send + 'static>(
    answer: impl Fn(Delivered, DeliveryLine) -> A,
) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime.and_then(|runtime| {
        let mut pump = FromPump::new(tokio::io::stdin());
        let ended = runtime.block_on(answer_at_once(&mut pump, tokio::io::stdout(), answer));
        // A read of stdin that still waits would hold the program.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_fault(&error.to_string()),
    }
}

/// Stands in front of an MCP server.
fn run_mcp(pin: &str, server: &str, place: &[&str]) -> ExitCode {
    let place = match read_server_place(place) {
        Ok(place) => place,
        Err(words) => return report_fault(&words),
    };
    match std::fs::read(pin) {
        Ok(text) => serve(&AdapterOrder { server: server.to_owned(), pin: text, place }),
        Err(error) => report_fault(&format!("config.unpinned: {pin}: {}", describe_error(&error))),
    }
}

/// Asks an MCP server for its tools, and prints the pin.
fn print_mcp_pin(place: &[&str]) -> ExitCode {
    match read_server_place(place).and_then(|place| pin_of(&place)) {
        Ok(pin) => {
            Screen::new(false).show_document(pin.to_text().as_bytes());
            ExitCode::SUCCESS
        }
        Err(words) => report_fault(&words),
    }
}

/// Where an MCP server is.
fn read_server_place(words: &[&str]) -> Result<ServerPlace, String> {
    let address = |url: &str, key| ServerPlace::Address { url: url.to_owned(), key };
    match words {
        ["--", run @ ..] => Ok(ServerPlace::Program(run.iter().map(|word| (*word).to_owned()).collect())),
        ["--at", url] => Ok(address(url, None)),
        ["--at", url, "--key-env", variable] => match std::env::var(variable) {
            Ok(key) => Ok(address(url, Some(key))),
            Err(_) => {
                Err(format!("the variable {variable}, which key_env names, is not set; set it to the key"))
            }
        },
        other => Err(format!("-listen-as: these words name no MCP server: {}", other.join(" "))),
    }
}

fn report_fault(words: &str) -> ExitCode {
    Screen::new(false).fail(CommandExit::Usage, words).into()
}
