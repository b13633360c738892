//! A log that is stored in NATS: at which broker, how durable a commit must be, and in how many copies.
//!
//! The broker of the log also carries the messages of listeners over NATS, so a file names one broker, in `log` or in
//! `bus`. This module does not connect: the program that runs the organism does.

use super::bus::{BrokerAddress, BusDeclaration, SeedVariable};
use super::diagnostics::Diagnostics;
use super::forms::{AnyText, CountWithin, WordOf, word_choice};
use super::key::KeyForm;
use super::secrets::{BY_NAME, SECRET};
use super::section::{form, section};
use super::tree::{Node, Span, Value};
use super::value::{self, At};
use systole_core::types::codes::Code;

/// How a broker stores the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogKept {
    /// The durability of a commit.
    pub durability: Durability,
    /// Replicas in a cluster.
    pub replicas: usize,
}

/// The durability of a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Durability {
    /// On disk, confirmed by the broker's monitoring pages. These are their addresses.
    Always(Vec<String>),
    /// The broker may lose acknowledged data when its machine loses power.
    Relaxed,
}

impl LogKept {
    /// The first of the pages, if pages are read.
    pub(super) fn first_page(&self) -> Option<&str> {
        match &self.durability {
            Durability::Always(pages) => pages.first().map(String::as_str),
            Durability::Relaxed => None,
        }
    }
}

/// The broker part of the section `log`.
pub(super) struct Kept {
    pub(super) broker: BusDeclaration,
    /// `None` if the section is not valid.
    pub(super) kept: Option<LogKept>,
    pub(super) at: Span,
}

/// Keys that describe a broker.
const OF_A_BROKER: [&str; 4] = ["key_env", "durability", "replicas", "monitor"];
const MONITOR: &str = "monitor: http://127.0.0.1:8222";
/// The path of the log, unless the file names one.
pub(super) const DEFAULT_LOG: &str = "./organism.db";

section! {
    /// The section `log`.
    pub(super) LogKeys with own never ["key": SECRET, BY_NAME; "password": SECRET, BY_NAME;] {
        path: default(DEFAULT_LOG.to_owned()) <AnyText> "the log's file, or the copy of a log in NATS; a path from this file's folder";
        nats: optional("none") <BrokerAddress> "the NATS server whose JetStream keeps the log, `nats://HOST:PORT`, without credentials, or a list of those of a cluster; `bus` is left out beside it";
        key_env: optional("none") <SeedVariable> "as `bus.key_env`";
        durability: default(CommitRule::Always) <WordOf<CommitWord>> "`always`: every commit is on the broker's disk, which `log.monitor` shows; `relaxed`: the broker may lose commits when its machine loses power";
        monitor: optional("none") <MonitorPages> "the broker's monitoring page, `http://HOST:PORT`; of a cluster the list of all";
        replicas: default(1) <CountWithin<1, 5>> "copies of the log in a NATS cluster, {bounds}";
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitRule {
    Always,
    Relaxed,
}

word_choice! { CommitWord: CommitRule { "always" = CommitRule::Always, "relaxed" = CommitRule::Relaxed } }

form! {
    /// One address or several: one page for each server of a cluster.
    pub(super) MonitorPages -> Vec<String> { KeyForm::Lines, monitors }
}

/// The broker part of the section. `None` if it names no broker.
pub(super) fn declare_kept(diagnostics: &mut Diagnostics, keys: &mut LogKeys) -> Option<Kept> {
    let Some(at) = keys.own.value_place("nats") else {
        let given: Vec<&str> = OF_A_BROKER.into_iter().filter(|key| keys.own.has(key)).collect();
        if !given.is_empty() {
            let message =
                format!("{} has no `nats`, which is required for {}", keys.own.path, given.join(", "));
            let fix = "nats: nats://127.0.0.1:4222 beside it, or leave it out";
            diagnostics.report(Code::ConfigMissing, keys.own.at, &message, fix);
        }
        return None;
    };
    let kept = choose_durability(diagnostics, keys, at)
        .map(|durability| LogKept { durability, replicas: keys.replicas.value as usize });
    let broker = BusDeclaration {
        at: keys.nats.take().map(|nats| nats.value),
        key: keys.key_env.take().map(|key| key.value),
    };
    Some(Kept { broker, kept, at })
}

fn choose_durability(diagnostics: &mut Diagnostics, keys: &LogKeys, at: Span) -> Option<Durability> {
    if keys.own.has("durability") && keys.durability.at.is_none() {
        return None;
    }
    match (keys.durability.value, keys.own.has("monitor")) {
        (CommitRule::Relaxed, false) => Some(Durability::Relaxed),
        (CommitRule::Always, true) => Some(Durability::Always(keys.monitor.as_ref()?.value.clone())),
        (CommitRule::Relaxed, true) => {
            let message = format!("{}.monitor: it is not read with `durability: relaxed`", keys.own.path);
            diagnostics.report_value(at, &message, "one of the two");
            None
        }
        (CommitRule::Always, false) => {
            let message = format!(
                "{} has no `monitor`, and only that page shows whether the broker syncs",
                keys.own.path
            );
            let fix = format!("{MONITOR}, its monitoring page, or durability: relaxed");
            diagnostics.report(Code::ConfigMissing, at, &message, &fix);
            None
        }
    }
}

fn monitors(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<String>> {
    let found = match &node.value {
        Value::List(_) => value::texts(diagnostics, node, path)?,
        _ => vec![value::text(diagnostics, node, path)?],
    };
    found.iter().map(|page| monitor(diagnostics, page, path)).collect::<Vec<_>>().into_iter().collect()
}

fn monitor(diagnostics: &mut Diagnostics, page: &At<String>, path: &str) -> Option<String> {
    let rest = page.value.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let parts = rest.and_then(|rest| rest.rsplit_once(':'));
    let is_page = parts.is_some_and(|(host, port)| {
        let plain = |c: char| !c.is_whitespace() && !"/?#,@".contains(c);
        !host.is_empty() && host.chars().all(plain) && port.parse::<u16>().is_ok()
    });
    if !is_page {
        let message = format!("{path}: `{}` is not the address of a monitoring page", page.value);
        diagnostics.report_value(page.at, &message, "http://HOST:PORT, without a path");
        return None;
    }
    rest.map(str::to_owned)
}

/// Reports a file that names two brokers.
pub(super) fn check(diagnostics: &mut Diagnostics, bus: Option<Span>, kept: Option<&Kept>) {
    if let (Some(bus), Some(kept)) = (bus, kept) {
        let message = "bus: the broker that keeps the log carries everything else as well";
        diagnostics.report_value_beside(bus, message, "leave `bus` out", (kept.at, "named here"));
    }
}
