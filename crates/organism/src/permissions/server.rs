//! Writes a nats-server configuration from the parties' rights. Each party gets its own account, so that no party can
//! name a subject of another, not even for an answer. Everything that is not allowed is denied.
//!
//! The same rights and keys give the same text. Only public keys come in, so no secret can get into the text.

use std::fmt::Write as _;
use std::net::SocketAddr;

use super::rights::{AccountCrossing, BrokerParty, BrokerRight};
use systole_core::types::ids::Name;

/// How long the broker remembers where an answer goes. Twice the longest wait for a delivery.
const THRESHOLD: &str = "\"10m\"";
/// How long, and how often, a listener may answer a search for services.
const ANSWER: &str = "{ max: 1, expires: \"10s\" }";
/// Each worker of a listener answers, and all share one account. A single allowed answer would show a random worker.
const EACH: &str = ", response: stream, threshold: \"10s\"";

/// The server's own account, unless its configuration names another.
const SERVER: &str = "$SYS";

/// The data that the rights do not contain.
pub struct ServerSettings<'a> {
    /// The organism.
    pub organism: &'a Name,
    /// The address that the server listens on.
    pub listen: SocketAddr,
    /// The folder for its data.
    pub store: &'a str,
    /// Whether the server keeps the organism's log. It then syncs every message before it confirms it. Deliveries that
    /// are out need no sync: what a machine without power loses of them is noticed.
    pub keeps_log: bool,
    /// The address of the page on which the server shows that it syncs, if the organism reads it.
    pub monitor: Option<&'a str>,
}

/// The whole text. Each party comes with its public key.
pub fn write_configuration(server: &ServerSettings<'_>, parties: &[(&BrokerParty, String)]) -> String {
    let mut text = String::new();
    let syncs = if server.keeps_log { "\n  sync_interval: always" } else { "" };
    let monitor = server.monitor.map(|page| format!("http: {}\n", quote_text(page))).unwrap_or_default();
    // Writing into a String cannot fail.
    let _written = write!(
        text,
        "# Who may do what in the organism {}. A key stands for the party that it was made for.\n\
         # Written by `systole permissions --nats-config`; written anew when a listener is added.\n\n\
         listen: {}\n{monitor}\njetstream {{\n  store_dir: {}{syncs}\n}}\n\naccounts {{\n",
        server.organism,
        quote_text(&server.listen.to_string()),
        quote_text(server.store),
    );
    let Some(((pump, key), others)) = parties.split_first() else { return text };
    let server = list_server_exports(pump);
    text.extend(["  # the server itself: no one can log in as it\n  ", &quote_text(SERVER), ": {\n"]);
    text.extend([&*write_list("exports", &server), "  }\n"]);
    write_account(&mut text, pump, key, &list_pump_exports(others), &list_pump_imports(pump, others), true);
    for (party, key) in others {
        write_account(
            &mut text,
            party,
            key,
            &list_exports(party),
            &list_imports(party, &pump.account),
            false,
        );
    }
    text.push_str("}\n");
    text
}

fn write_account(
    text: &mut String,
    party: &BrokerParty,
    key: &str,
    exports: &[String],
    imports: &[String],
    keeps: bool,
) {
    let allow = |rights: &[BrokerRight]| {
        let lines: Vec<String> =
            rights.iter().map(|right| format!("          {}\n", quote_text(&right.subject))).collect();
        format!("{{ allow: [\n{}        ] }}", lines.concat())
    };
    let answers =
        if party.answers_others() { format!("        allow_responses: {ANSWER}\n") } else { String::new() };
    text.extend([
        "  # ",
        &party.shown,
        "\n  ",
        &quote_text(&party.account),
        ": {\n",
        if keeps { "    jetstream: enabled\n" } else { "" },
        "    users: [\n      { nkey: ",
        key,
        ", permissions: {\n        publish: ",
        &allow(&party.publish),
        "\n        subscribe: ",
        &allow(&party.subscribe),
        "\n",
        &answers,
        "      } }\n    ]\n",
        &write_list("exports", exports),
        &write_list("imports", imports),
        "  }\n",
    ]);
}

/// Lines under one name. Empty if there are none.
fn write_list(name: &str, all: &[String]) -> String {
    if all.is_empty() { String::new() } else { format!("    {name}: [\n{}    ]\n", all.concat()) }
}

/// The server's events that a party receives.
fn list_server_rights(party: &BrokerParty) -> impl Iterator<Item = &BrokerRight> {
    party.subscribe.iter().filter(|right| right.way == AccountCrossing::Server)
}

/// The server's events for the pump's account only.
fn list_server_exports(pump: &BrokerParty) -> Vec<String> {
    let line = |right: &BrokerRight| {
        let subject = quote_text(right.there.as_ref().unwrap_or(&right.subject));
        format!("      {{ stream: {subject}, accounts: [{}] }}\n", quote_text(&pump.account))
    };
    list_server_rights(pump).map(line).collect()
}

/// The subjects that the pump's account opens, each for one other account.
fn list_pump_exports(others: &[(&BrokerParty, String)]) -> Vec<String> {
    let reaching =
        others.iter().flat_map(|(party, _)| party.crossing_rights().map(move |right| (party, right)));
    let open = reaching.filter_map(|(party, right)| {
        let subject = quote_text(right.there.as_ref().unwrap_or(&right.subject));
        let threshold = format!(", threshold: {THRESHOLD}");
        let (kind, more) = match right.way {
            AccountCrossing::Asks => ("service", threshold),
            AccountCrossing::Waits => ("service", format!(", response: stream{threshold}")),
            AccountCrossing::Hears => ("stream", String::new()),
            AccountCrossing::Own | AccountCrossing::Answers | AccountCrossing::Server => return None,
        };
        Some((kind, subject, more, quote_text(&party.account)))
    });
    let mut merged: Vec<(&str, String, String, Vec<String>)> = Vec::new();
    for (kind, subject, more, account) in open {
        match merged.iter_mut().find(|(_, known, ..)| *known == subject) {
            Some((.., accounts)) => accounts.push(account),
            None => merged.push((kind, subject, more, vec![account])),
        }
    }
    let line = |(kind, subject, more, accounts): (&str, String, String, Vec<String>)| {
        let accounts = accounts.join(", ");
        format!("      {{ {kind}: {subject}, accounts: [{accounts}]{more} }}\n")
    };
    merged.into_iter().map(line).collect()
}

/// The pump's account: the server's events it receives, and the questions it may ask the others.
fn list_pump_imports(pump: &BrokerParty, others: &[(&BrokerParty, String)]) -> Vec<String> {
    let heard = list_server_rights(pump).map(|right| write_import("stream", SERVER, right));
    let answered = others.iter().flat_map(|(party, _)| {
        let rights = party.crossing_rights().filter(|right| right.way == AccountCrossing::Answers);
        rights.map(move |right| write_import("service", &party.account, right))
    });
    heard.chain(answered).collect()
}

fn list_exports(party: &BrokerParty) -> Vec<String> {
    let answered = party.crossing_rights().filter(|right| right.way == AccountCrossing::Answers);
    answered
        .map(|right| {
            format!("      {{ service: {}, accounts: [\"PUMP\"]{EACH} }}\n", quote_text(&right.subject))
        })
        .collect()
}

fn list_imports(party: &BrokerParty, pump: &str) -> Vec<String> {
    let reaching = party.crossing_rights().filter_map(|right| {
        let kind = match right.way {
            AccountCrossing::Asks | AccountCrossing::Waits => "service",
            AccountCrossing::Hears => "stream",
            AccountCrossing::Own | AccountCrossing::Answers | AccountCrossing::Server => return None,
        };
        Some(write_import(kind, pump, right))
    });
    reaching.collect()
}

fn write_import(kind: &str, account: &str, right: &BrokerRight) -> String {
    let there = quote_text(right.there.as_ref().unwrap_or(&right.subject));
    let here = match right.there {
        Some(_) => format!(", to: {}", quote_text(&right.subject)),
        None => String::new(),
    };
    format!("      {{ {kind}: {{ account: {}, subject: {there} }}{here} }}\n", quote_text(account))
}

/// Quotes any text for the configuration.
fn quote_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
