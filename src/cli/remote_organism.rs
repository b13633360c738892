//! An organism that is reached by its address: `--url` or `SYSTOLE_URL`, and the token in a variable. Nothing of it is
//! on this machine.
//!
//! The token is sent to that address alone, and never unprotected over a network. Every fault has its fix.

use std::sync::Arc;
use std::time::Duration;

use systole_http::HttpAddress;
use ureq::tls::{Certificate, PemItem, parse_pem};

use super::exit::CommandExit;
use super::local_organism;
use super::place::Place;
use super::refusal_text;
use super::screen::Screen;
use super::system_faults;
use super::unfound::report_not_found;
use systole_api::types::{ApiRefusal, OrganismStatus};
use systole_client::client::{DoorClient, DoorClientFault, DoorResult};
use systole_client::remote_log::RemoteLog;
use systole_config as config;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogReader, Position};
use systole_organism::runfile::Credential;
use systole_queries::finding::{self, NameOwner};
use systole_queries::persons::WaitingRequest;
use systole_queries::questions::{find_query, list_commands};

/// The variable with the token.
const TOKEN: &str = "SYSTOLE_TOKEN";
/// Allows a token to go over a network without TLS.
const PLAIN: &str = "SYSTOLE_PLAIN_HTTP";
/// The file with the certificates that count, as other programs know it.
const ROOTS: &str = "SSL_CERT_FILE";

/// The commands that take an address, beside those of the questions.
const COMMANDS: [&str; 18] = [
    "ask", "send", "ps", "log", "find", "trail", "blob", "config", "approve", "reject", "amend", "choose",
    "steer", "cancel", "pause", "resume", "retry", "end",
];

/// Whether a command takes an address.
pub(super) fn can_take_address(command: &str) -> bool {
    COMMANDS.contains(&command) || find_query(command).is_some()
}

/// An organism elsewhere that answered.
pub(super) struct OrganismElsewhere {
    screen: Screen,
    pub(super) client: Arc<DoorClient>,
    pub(super) status: OrganismStatus,
    pub(super) log: Arc<RemoteLog>,
}

/// Reports an address for a command that works only where the organism is.
pub(super) fn refuse_address(screen: Screen, command: &str) -> CommandExit {
    let words = format!("systole {command} works only where the organism is, and takes no --url");
    let questions = list_commands().map(|row| row.name);
    let commands: Vec<&str> = COMMANDS.into_iter().chain(questions).collect();
    screen.refuse(words, format!("it there; --url is for {}", commands.join(", ")))
}

impl OrganismElsewhere {
    /// The organism that the command line or the environment names by its address, if one does.
    pub(super) fn find_named(place: &Place) -> Result<Option<OrganismElsewhere>, CommandExit> {
        OrganismElsewhere::find_within(place, None)
    }

    /// The same, for a command that waits that long for everything.
    pub(super) fn find_within(
        place: &Place,
        limit: Option<Duration>,
    ) -> Result<Option<OrganismElsewhere>, CommandExit> {
        let screen = place.screen();
        let (url, token) = (place.url(), place.token_variable());
        let Some((name, url)) = url else {
            return match token {
                Some(_) => {
                    let fix = "--url with the address of the organism";
                    Err(screen.refuse("--token-env: no address is given", fix))
                }
                None => Ok(None),
            };
        };
        let is_tls =
            check_address(&url).map_err(|(why, fix)| screen.refuse(format!("{name} `{url}`: {why}"), fix))?;
        let variable = token.unwrap_or(TOKEN);
        let token = read_token(variable).map_err(|(words, fix)| screen.refuse(words, fix))?;
        let roots = if is_tls { read_roots(screen)? } else { Vec::new() };
        let client = Arc::new(DoorClient::connect_to(&url, &token, roots).with_limit(limit));
        let status = match client.read_status() {
            Ok(Ok(status)) => status,
            Ok(Err(mut refusal)) => {
                if Code::parse(&refusal.code) == Some(Code::IngressUnauthorized) {
                    refusal.message = format!("{url} knows no client with the token in {variable}");
                    refusal.fix = Some(format!(
                        "{variable} with the token that `clients` of the organism's file reads for you"
                    ));
                }
                refusal_text::say(screen, &refusal);
                return Err(exit_of(&refusal));
            }
            Err(fault) => return Err(report_silence(screen, &fault)),
        };
        let log = Arc::new(RemoteLog::new(client.clone()));
        Ok(Some(OrganismElsewhere { screen, client, status, log }))
    }

    /// Its log, now or as it was at a position.
    pub(super) fn log_at(&self, at: Option<Position>) -> Arc<RemoteLog> {
        at.map_or_else(|| self.log.clone(), |at| Arc::new(self.log.at_position(at)))
    }

    /// The thread that the user means.
    pub(super) fn find_thread(&self, typed: &str) -> Result<ThreadId, CommandExit> {
        finding::find(&*self.log, typed, &self.owner()).map_err(|why| report_not_found(self.screen, &why))
    }

    /// The thread that a message is for: a name as it was typed, which the message may open, or the id of a thread.
    pub(super) fn find_place(&self, typed: &str) -> Result<String, CommandExit> {
        match finding::is_name(typed) {
            true => Ok(typed.to_owned()),
            false => self.find_thread(typed).map(|thread| thread.to_string()),
        }
    }

    /// Whose names of threads count: those of the client of the token.
    pub(super) fn owner(&self) -> NameOwner {
        NameOwner::elsewhere(self.status.client.as_deref(), &self.status.organism)
    }

    /// The composition that runs. Only clients that may read everything get it.
    pub(super) fn read_composition(&self) -> Result<Result<Composition, Box<ApiRefusal>>, CommandExit> {
        let source = Digest::parse(&self.status.config).ok().map(|hash| self.log.read_document(hash));
        let source =
            source.transpose().map_err(|fault| local_organism::report_log_fault(self.screen, &fault))?;
        if let Some(refusal) = self.log.refused_document() {
            return Ok(Err(refusal));
        }
        let missing = || {
            let words = format!("{} does not keep its configuration", self.client.address());
            self.screen.fail(CommandExit::Unavailable, words)
        };
        let source = source.flatten().ok_or_else(missing)?;
        let read = config::read_source(&source, std::path::Path::new("."));
        read.map(Ok).map_err(|why| {
            let words =
                format!("this version cannot read the configuration of {}: {why}", self.client.address());
            let fix = format!("systole {}, which runs there", self.status.version);
            self.screen.fail_with(CommandExit::Configuration, words, fix)
        })
    }

    /// The requests that wait for a person: with the role `approve` also those in threads of others.
    pub(super) fn list_waiting(&self, at: Option<Position>) -> Result<Vec<WaitingRequest>, CommandExit> {
        let found = self.check_answer(self.client.list_approvals(at.map(|at| at.0)))?;
        let read = found.approvals.iter().map(WaitingRequest::from_json);
        read.collect::<Result<_, _>>().map_err(|why| {
            let words = format!("{} lists an approval that cannot be read: {why}", self.client.address());
            let fix = format!("systole {}, which runs there", self.status.version);
            self.screen.fail_with(CommandExit::Unavailable, words, fix)
        })
    }

    /// The decision on an order. Silence is reported.
    pub(super) fn check_decision<T>(
        &self,
        answered: DoorResult<T>,
    ) -> Result<Result<T, Box<ApiRefusal>>, CommandExit> {
        answered.map_err(|fault| report_silence(self.screen, &fault))
    }

    /// What was asked for. A refusal is reported.
    pub(super) fn check_answer<T>(&self, answered: DoorResult<T>) -> Result<T, CommandExit> {
        self.check_decision(answered)?.map_err(|refusal| self.report_refusal(&refusal))
    }

    /// Reports that nothing listens there any more.
    pub(super) fn report_gone(&self) -> CommandExit {
        let address = self.client.address().to_owned();
        let words = "the organism has stopped".to_owned();
        report_silence(self.screen, &DoorClientFault::Unreachable { address, words })
    }

    /// Reports a refusal.
    pub(super) fn report_refusal(&self, refusal: &ApiRefusal) -> CommandExit {
        refusal_text::say(self.screen, refusal);
        exit_of(refusal)
    }
}

/// Reports that an organism does not answer as it should.
pub(super) fn report_silence(screen: Screen, fault: &DoorClientFault) -> CommandExit {
    let exit = match fault {
        DoorClientFault::Broken { .. } => CommandExit::Log,
        DoorClientFault::Refused(refusal) => exit_of(refusal),
        _ => CommandExit::Unavailable,
    };
    screen.fail_with(exit, fault, fault.fix())
}

fn exit_of(refusal: &ApiRefusal) -> CommandExit {
    Code::parse(&refusal.code).map_or(CommandExit::Payload, refusal_text::exit_of)
}

/// Whether an address is reached over TLS; or why no token is sent there, with the fix.
fn check_address(url: &str) -> Result<bool, (String, String)> {
    let example = || "http://127.0.0.1:7474, or https:// and the name of its proxy".to_owned();
    let read = HttpAddress::parse(url).map_err(|why| (why.to_owned(), example()))?;
    if url.contains('?') {
        return Err(("it has a query".to_owned(), example()));
    }
    if read.tls() || is_this_machine(read.host()) || std::env::var(PLAIN).is_ok_and(|said| said == "1") {
        return Ok(read.tls());
    }
    let why = "your token would go over the network without TLS".to_owned();
    Err((
        why,
        format!("https:// and a proxy there, or a tunnel to this machine; {PLAIN}=1 sends it all the same"),
    ))
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The token in a variable, or why there is none, with the fix.
fn read_token(variable: &str) -> Result<Credential, (String, String)> {
    let token = std::env::var(variable).unwrap_or_default();
    if token.is_empty() {
        let fix = format!("export {variable} with the token of a client; --token-env names another variable");
        return Err((format!("{variable} holds no token"), fix));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let words = format!("{variable} holds a blank or another sign that no token has");
        return Err((words, format!("{variable} with the token alone, without a line break")));
    }
    Ok(Credential::from_token(token))
}

/// The certificates that count, if a file names them.
fn read_roots(screen: Screen) -> Result<Vec<Certificate<'static>>, CommandExit> {
    let Some(file) = std::env::var_os(ROOTS).filter(|file| !file.is_empty()) else { return Ok(Vec::new()) };
    let path = std::path::Path::new(&file);
    let what = "the certificates";
    let pem = std::fs::read(path)
        .map_err(|error| system_faults::report_unread(screen, CommandExit::Usage, path, what, &error))?;
    let found: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        let words = format!("{ROOTS}: {} holds no certificate", path.display());
        return Err(screen.refuse(words, "a file with certificates in PEM"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_only_where_it_is_protected() {
        for (url, is_tls) in [
            ("http://127.0.0.1:7474", false),
            ("http://[::1]:7474/", false),
            ("http://localhost:1", false),
            ("https://systole.example", true),
            ("https://systole.example/acme/", true),
        ] {
            assert_eq!(check_address(url), Ok(is_tls), "{url}");
        }
        for (url, why) in [
            ("http://192.0.2.1:7474", "without TLS"),
            ("http://127.0.0.1.example", "without TLS"),
            ("http://localhost.example:7474", "without TLS"),
            ("127.0.0.1:7474", "no scheme"),
            ("ftp://127.0.0.1", "neither http nor https"),
            ("http://bob:secret@127.0.0.1", "a name or a password"),
            ("http://127.0.0.1:7474/#3f9c", "a fragment"),
            ("http://127.0.0.1:7474/?a=b", "a query"),
            ("http://", "address"),
        ] {
            let (told, fix) = check_address(url).unwrap_err();
            assert!(told.contains(why) && !fix.is_empty(), "{url}: {told}");
        }
    }
}
