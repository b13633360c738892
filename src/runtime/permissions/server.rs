//! The configuration of a nats-server, from the parties' rights: an account for each of them, so that nobody can name a
//! subject of another's, not even as the place for an answer. What is not allowed is denied.
//!
//! The same rights and keys give the same text. Keys come as their public halves; no secret can get here.

use std::fmt::Write as _;
use std::net::SocketAddr;

use super::rights::{Party, Right, Way};
use systole_core::types::ids::Name;

/// How long the broker knows whom an answer goes to. Twice as long as anybody may wait for a delivery.
const THRESHOLD: &str = "\"10m\"";
/// How long, and how often, a listener may answer who looks for services.
const ANSWER: &str = "{ max: 1, expires: \"10s\" }";
/// Each worker of a listener answers, and they share its account: one answer for all would show one of them by chance.
const EACH: &str = ", response: stream, threshold: \"10s\"";

/// The account in which a server speaks of itself, where its configuration names no other.
const SERVER: &str = "$SYS";

/// What the rights do not say.
pub struct Server<'a> {
    /// The organism.
    pub organism: &'a Name,
    /// Where the server listens.
    pub listen: SocketAddr,
    /// The folder where it keeps what is out.
    pub store: &'a str,
}

/// The whole text. Each party comes with its public key.
pub fn written(server: &Server<'_>, parties: &[(&Party, String)]) -> String {
    let mut text = String::new();
    // Nothing that is written into a String can be refused.
    let _written = write!(
        text,
        "# Who may do what in the organism {}. Whoever has a key is who the key was made for.\n\
         # Written by `systole permissions --nats-config`; written anew when a listener is added.\n\n\
         listen: {}\n\njetstream {{\n  store_dir: {}\n  sync_interval: always\n}}\n\naccounts {{\n",
        server.organism,
        quoted(&server.listen.to_string()),
        quoted(server.store),
    );
    let Some(((pump, key), others)) = parties.split_first() else { return text };
    let server = exports_of_server(pump);
    text.extend(["  # the server itself: nobody is let in as it\n  ", &quoted(SERVER), ": {\n"]);
    text.extend([&*list("exports", &server), "  }\n"]);
    block(&mut text, pump, key, &exports_of_pump(others), &imports_of_pump(pump, others), true);
    for (party, key) in others {
        block(&mut text, party, key, &exports(party), &imports(party, &pump.account), false);
    }
    text.push_str("}\n");
    text
}

fn block(text: &mut String, party: &Party, key: &str, exports: &[String], imports: &[String], keeps: bool) {
    let allow = |rights: &[Right]| {
        let lines: Vec<String> =
            rights.iter().map(|right| format!("          {}\n", quoted(&right.subject))).collect();
        format!("{{ allow: [\n{}        ] }}", lines.concat())
    };
    let answers =
        if party.answers() { format!("        allow_responses: {ANSWER}\n") } else { String::new() };
    text.extend([
        "  # ",
        &party.shown,
        "\n  ",
        &quoted(&party.account),
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
        &list("exports", exports),
        &list("imports", imports),
        "  }\n",
    ]);
}

/// Lines of one name; nothing where there are none.
fn list(name: &str, all: &[String]) -> String {
    if all.is_empty() { String::new() } else { format!("    {name}: [\n{}    ]\n", all.concat()) }
}

/// What a party hears of the server.
fn of_server(party: &Party) -> impl Iterator<Item = &Right> {
    party.subscribe.iter().filter(|right| right.way == Way::Server)
}

/// What the server says to the pump's account alone.
fn exports_of_server(pump: &Party) -> Vec<String> {
    let line = |right: &Right| {
        let subject = quoted(right.there.as_ref().unwrap_or(&right.subject));
        format!("      {{ stream: {subject}, accounts: [{}] }}\n", quoted(&pump.account))
    };
    of_server(pump).map(line).collect()
}

/// What the pump's account opens, to each of the others alone.
fn exports_of_pump(others: &[(&Party, String)]) -> Vec<String> {
    let reaching = others.iter().flat_map(|(party, _)| party.reaching().map(move |right| (party, right)));
    let open = reaching.filter_map(|(party, right)| {
        let subject = quoted(right.there.as_ref().unwrap_or(&right.subject));
        let threshold = format!(", threshold: {THRESHOLD}");
        let (kind, more) = match right.way {
            Way::Asks => ("service", threshold),
            Way::Waits => ("service", format!(", response: stream{threshold}")),
            Way::Hears => ("stream", String::new()),
            Way::Own | Way::Answers | Way::Server => return None,
        };
        Some((kind, subject, more, quoted(&party.account)))
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

/// What the pump's account hears of the server, and the questions that it may ask the others.
fn imports_of_pump(pump: &Party, others: &[(&Party, String)]) -> Vec<String> {
    let heard = of_server(pump).map(|right| import("stream", SERVER, right));
    let answered = others.iter().flat_map(|(party, _)| {
        let rights = party.reaching().filter(|right| right.way == Way::Answers);
        rights.map(move |right| import("service", &party.account, right))
    });
    heard.chain(answered).collect()
}

fn exports(party: &Party) -> Vec<String> {
    let answered = party.reaching().filter(|right| right.way == Way::Answers);
    answered
        .map(|right| format!("      {{ service: {}, accounts: [\"PUMP\"]{EACH} }}\n", quoted(&right.subject)))
        .collect()
}

fn imports(party: &Party, pump: &str) -> Vec<String> {
    let reaching = party.reaching().filter_map(|right| {
        let kind = match right.way {
            Way::Asks | Way::Waits => "service",
            Way::Hears => "stream",
            Way::Own | Way::Answers | Way::Server => return None,
        };
        Some(import(kind, pump, right))
    });
    reaching.collect()
}

fn import(kind: &str, account: &str, right: &Right) -> String {
    let there = quoted(right.there.as_ref().unwrap_or(&right.subject));
    let here = match right.there {
        Some(_) => format!(", to: {}", quoted(&right.subject)),
        None => String::new(),
    };
    format!("      {{ {kind}: {{ account: {}, subject: {there} }}{here} }}\n", quoted(account))
}

/// A text as the configuration takes it whatever stands in it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
