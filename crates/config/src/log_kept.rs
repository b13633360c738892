//! A log that is stored in NATS: at which broker, how durable a commit must be, and in how many copies.
//!
//! The broker of the log also carries the messages of listeners over NATS, so a file names one broker, in `log` or in
//! `bus`. This module does not connect: the program that runs the organism does.

use super::bus::{self, BusDeclaration};
use super::diagnostics::Diagnostics;
use super::tree::{Node, Span, Value};
use super::value::{self, At, Fields};
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Always,
    Relaxed,
}

/// Reads the broker part of the section `log`. `None` if it names no broker.
pub(super) fn read(diagnostics: &mut Diagnostics, section: &Fields<'_>) -> Option<Kept> {
    let word = section.get("durability").map(|(node, path)| {
        value::word(diagnostics, node, &path, &[("always", Word::Always), ("relaxed", Word::Relaxed)])
    });
    let replicas = section.get("replicas").map(|_| section.count(diagnostics, "replicas"));
    let pages = section.get("monitor").map(|(node, path)| monitors(diagnostics, node, &path));
    let Some((node, path)) = section.get("nats") else {
        bus::key_beside(diagnostics, section);
        let given: Vec<&str> = OF_A_BROKER.into_iter().filter(|key| section.get(key).is_some()).collect();
        if !given.is_empty() {
            let message =
                format!("{} has no `nats`, which is required for {}", section.path, given.join(", "));
            let fix = "nats: nats://127.0.0.1:4222 beside it, or leave it out";
            diagnostics.report(Code::ConfigMissing, section.at, &message, Some(fix));
        }
        return None;
    };
    let broker = bus::broker(diagnostics, (node, &path), section);
    let durability = durability(diagnostics, section, node.span, word.unwrap_or(Some(Word::Always)), pages);
    let replicas = replicas.unwrap_or(Some(1)).map(|n| n as usize);
    let kept = durability.zip(replicas).map(|(durability, replicas)| LogKept { durability, replicas });
    Some(Kept { broker, kept, at: node.span })
}

fn durability(
    diagnostics: &mut Diagnostics,
    section: &Fields<'_>,
    at: Span,
    word: Option<Word>,
    pages: Option<Option<Vec<String>>>,
) -> Option<Durability> {
    match (word?, pages) {
        (Word::Relaxed, None) => Some(Durability::Relaxed),
        (Word::Always, Some(pages)) => pages.map(Durability::Always),
        (Word::Relaxed, Some(_)) => {
            let message = format!("{}.monitor: it is not read with `durability: relaxed`", section.path);
            diagnostics.report(Code::ConfigValue, at, &message, Some("one of the two"));
            None
        }
        (Word::Always, None) => {
            let message = format!(
                "{} has no `monitor`, and only that page shows whether the broker syncs",
                section.path
            );
            let fix = format!("{MONITOR}, its monitoring page, or durability: relaxed");
            diagnostics.report(Code::ConfigMissing, at, &message, Some(&fix));
            None
        }
    }
}

/// One address or several: one page for each server of a cluster.
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
        diagnostics.report(Code::ConfigValue, page.at, &message, Some("http://HOST:PORT, without a path"));
        return None;
    }
    rest.map(str::to_owned)
}

/// Reports a file that names two brokers.
pub(super) fn check(diagnostics: &mut Diagnostics, bus: Option<Span>, kept: Option<&Kept>) {
    if let (Some(bus), Some(kept)) = (bus, kept) {
        let message = "bus: the broker that keeps the log carries everything else as well";
        diagnostics.report_beside(
            Code::ConfigValue,
            bus,
            message,
            Some("leave `bus` out"),
            (kept.at, "named here"),
        );
    }
}
