//! `systole mcp login`: a login at a server at an address, in a browser of the person who runs the command.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use systole_mcp::client::ServerAddress;
use systole_mcp::login::{
    BegunLogin, BrowserReturn, FailedLogin, LoginAnswer, LoginOrder, TokenFile, begin_login,
};
use systole_system::system::describe_error;

use super::server_choice::find_server;
use crate::cli::console::open_browser;
use crate::cli::exit::CommandExit;
use crate::cli::local_organism;
use crate::cli::place::{Place, refuse};
use crate::cli::screen::Screen;
use crate::cli::signals::Signals;
use crate::cli::typed_lines::read_lines;
use systole_config::{self as config, McpServer};

/// Log in to an MCP server at an address, in a browser.
///
/// It prints the address of the page for the login, opens it if this machine has a browser, and keeps the tokens in
/// .systole/mcp/NAME/token beside the organism's file, where only you can read them. They are renewed by themselves.
/// An organism that runs takes them at once.
#[derive(Args, Debug)]
pub(in crate::cli) struct LoginCommand {
    #[command(flatten)]
    place: Place,
    /// The listener of the server
    name: String,
    /// The client that you made at the authorization server; without it, one is registered
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The variable with the secret of that client, if it has one
    #[arg(long, value_name = "NAME", requires = "client_id")]
    client_secret_env: Option<String>,
    /// The rights to ask for, as "read write"; without it, those that the server names
    #[arg(long, value_name = "WORDS")]
    scope: Option<String>,
    /// The port to which the browser comes back, if the client is made for one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Open no browser; the address that it ends at, or the code, is read from stdin
    #[arg(long)]
    no_browser: bool,
}

impl LoginCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        self.place.write_what_is_said(screen)?;
        let servers = config::mcp_servers(self.place.file());
        let (_, servers) = servers.map_err(|refused| refuse(screen, &refused))?;
        let server = find_server(&servers, &self.name, screen)?;
        let url = find_address(server, screen)?;
        let directory = self.place.directory();
        let file = TokenFile::of_listener(&directory, &self.name);
        let at =
            ServerAddress::parse(url, None).map_err(|fault| screen.refuse(fault, "https://HOST/PATH"))?;
        let client = self.client_id.clone().map(|id| Ok((id, self.read_secret(screen)?))).transpose()?;
        local_organism::with_runtime(screen, async {
            let mut signals = Signals::listen(screen)?;
            let order = LoginOrder {
                at,
                file: file.clone(),
                client,
                scopes: self
                    .scope
                    .iter()
                    .flat_map(|words| words.split_whitespace())
                    .map(str::to_owned)
                    .collect(),
            };
            tokio::select! {
                done = self.log_in(order, screen) => done,
                exit = signals.next() => Err(exit),
            }
        })?;
        if screen.json {
            screen.show_value(&json!({"listener": self.name, "token": file.name()}));
        } else {
            screen.say(format!("logged in; the tokens are in {} and are renewed by themselves", file.name()));
            if !directory.join(config::pin_file(&self.name)).exists() {
                screen.say(format!("next: systole mcp pin {}", self.name));
            }
        }
        Ok(CommandExit::Done)
    }

    fn read_secret(&self, screen: Screen) -> Result<Option<String>, CommandExit> {
        let Some(variable) = &self.client_secret_env else { return Ok(None) };
        match std::env::var(variable) {
            Ok(secret) if !secret.trim().is_empty() => Ok(Some(secret.trim().to_owned())),
            _ => Err(screen
                .refuse(format!("the variable {variable} is not set"), "set it to the secret of the client")),
        }
    }

    async fn log_in(&self, order: LoginOrder, screen: Screen) -> Result<(), CommandExit> {
        let page = LoginPage(order.file.find_page());
        let back = BrowserReturn::listen(self.port).await.map_err(|error| {
            let port = self.port.map_or_else(|| "a port".to_owned(), |port| format!("port {port}"));
            let words = format!("{port} of this machine cannot be used: {}", describe_error(&error));
            screen.fail_with(
                CommandExit::Unavailable,
                words,
                "another --port, which the client must know too",
            )
        })?;
        let back_to = back.address();
        let begun =
            begin_login(order, &back_to).await.map_err(|fault| self.report(screen, &fault, &back_to))?;
        self.show_address(&begun, &page.0, screen);
        let answer = self.wait_for_answer(&begun.state, back, screen).await?;
        drop(page);
        begun.finish(&answer).await.map_err(|fault| self.report(screen, &fault, &back_to))
    }

    /// Shows where to log in, and opens a browser there if this machine has one.
    fn show_address(&self, begun: &BegunLogin, page: &Path, screen: Screen) {
        let rights = match begun.scopes.as_slice() {
            [] => String::new(),
            scopes => format!(", for the rights {}", scopes.join(" ")),
        };
        let giver = begun.token_host.iter().map(|host| format!(", whose tokens come from {host}"));
        let giver: String = giver.collect();
        screen.say(format!("{} wants a login at {}{giver}{rights}", self.name, begun.host));
        let opened = match self.no_browser {
            true => None,
            false => open_browser(screen, page, &begun.address),
        };
        if screen.json {
            screen.show_value(&json!({"address": begun.address, "opened": opened.is_some()}));
        } else {
            screen.say(match opened {
                Some(opener) => format!("opened with {opener}; waits for the browser"),
                None => "open this address in a browser".to_owned(),
            });
            screen.show(&begun.address);
        }
    }

    /// Waits for the answer: from a browser of this machine, or typed.
    async fn wait_for_answer(
        &self,
        state: &str,
        back: BrowserReturn,
        screen: Screen,
    ) -> Result<LoginAnswer, CommandExit> {
        let typing = self.no_browser || std::io::stdin().is_terminal();
        if typing && !screen.json {
            screen.say("if it cannot come back here, enter the address that it ends at, or the code");
        }
        let typed = async {
            let mut lines = if typing { read_lines() } else { return std::future::pending().await };
            while let Some(line) = lines.recv().await {
                match LoginAnswer::from_line(&line) {
                    Some(answer) if answer.is_to(state) => return answer,
                    Some(_) => screen.say("that is the answer to another login"),
                    None => screen.say("that is neither an address with a code nor a code"),
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            answer = typed => Ok(answer),
            answer = back.wait(state) => answer.map_err(|error| {
                let again = format!("systole mcp login {}", self.name);
                screen.fail_with(CommandExit::Unavailable, describe_error(&error), again)
            }),
        }
    }

    /// Says why there is no login, with what to do.
    fn report(&self, screen: Screen, fault: &FailedLogin, back_to: &str) -> CommandExit {
        let name = &self.name;
        let (exit, fix) = match fault {
            FailedLogin::NoAnswer(_) => {
                (CommandExit::Unavailable, format!("systole mcp login {name}, later"))
            }
            FailedLogin::Refused(_) => (CommandExit::Failed, format!("systole mcp login {name}, once more")),
            FailedLogin::NoClient(_) => {
                let fix = format!(
                    "make a client at the authorization server, which comes back to {back_to}; then systole mcp login \
                     {name} --client-id ID, with --port for that port"
                );
                (CommandExit::Failed, fix)
            }
            FailedLogin::NoLogin(_) => (
                CommandExit::Failed,
                format!("systole mcp pin {name}; or name a key with key_env at listeners.{name}"),
            ),
            FailedLogin::NoFile(_) => {
                (CommandExit::Unavailable, "look at the rights of that folder".to_owned())
            }
        };
        screen.fail_with(exit, format!("{name}: {fault}"), fix)
    }
}

/// The page that leads a browser to a login. It is removed when the login has its answer, or none comes.
struct LoginPage(PathBuf);

impl Drop for LoginPage {
    fn drop(&mut self) {
        // There is none if no browser was opened.
        let _gone = fs::remove_file(&self.0);
    }
}

/// The address of a server that can have a login.
fn find_address(server: &McpServer, screen: Screen) -> Result<&str, CommandExit> {
    let name = &server.name;
    let ([url], true) = (server.command.as_slice(), server.program.run.is_empty()) else {
        let words = format!("{name} is a program, and a login is for a server at an address");
        return Err(screen.refuse(words, format!("listeners: {{{name}: {{mcp: https://HOST/PATH}}}}")));
    };
    if server.program.adapter.iter().any(|word| word == "--key-env") {
        let words = format!("{name} has key_env, whose key is sent in place of a login");
        return Err(screen.refuse(words, format!("take key_env out of listeners.{name}")));
    }
    Ok(url)
}
