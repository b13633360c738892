//! A log that is kept in NATS: at which broker, how sure a commit has to be, in how many copies.
//!
//! The broker that keeps the log also carries what goes to listeners over NATS, so a file names one broker, in `log` or
//! in `bus`. It never goes there: that is for whoever runs the organism.

use super::bus::{self, Declaration};
use super::desk::Desk;
use super::value::{self, At, Fields};
use super::yaml::{Node, Span, Value};
use systole_core::types::codes::Code;

/// How the log is kept at a broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogKept {
    /// How sure a commit is.
    pub durability: Durability,
    /// Copies in a cluster.
    pub replicas: usize,
}

/// How sure a commit is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Durability {
    /// On disk, as the broker's pages of its own state show it. These are their addresses.
    Always(Vec<String>),
    /// The broker may lose what it took, when its machine loses power.
    Relaxed,
}

/// What stands under `log` of a broker.
pub(super) struct Kept {
    pub(super) broker: Declaration,
    /// None where what stands there is no way to keep a log.
    pub(super) kept: Option<LogKept>,
    pub(super) at: Span,
}

/// Keys that say something of a broker.
const OF_A_BROKER: [&str; 4] = ["key_env", "durability", "replicas", "monitor"];
const MONITOR: &str = "monitor: http://127.0.0.1:8222";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Always,
    Relaxed,
}

/// Reads what the section `log` says of a broker; none where it names none.
pub(super) fn read(desk: &mut Desk, section: &Fields<'_>) -> Option<Kept> {
    let word = section.get("durability").map(|(node, path)| {
        value::word(desk, node, &path, &[("always", Word::Always), ("relaxed", Word::Relaxed)])
    });
    let replicas = section.get("replicas").map(|(node, path)| value::count(desk, node, &path, 1, 5));
    let pages = section.get("monitor").map(|(node, path)| monitors(desk, node, &path));
    let Some((node, path)) = section.get("nats") else {
        bus::key_beside(desk, section);
        let given: Vec<&str> = OF_A_BROKER.into_iter().filter(|key| section.get(key).is_some()).collect();
        if !given.is_empty() {
            let told =
                [&section.path, " has no `nats`, without which nothing is meant by ", &given.join(", ")];
            let mend = "nats: nats://127.0.0.1:4222 beside it, or leave it out";
            desk.tell(Code::ConfigMissing, section.at, &told.concat(), Some(mend));
        }
        return None;
    };
    let broker = bus::broker(desk, (node, &path), section);
    let durability = durability(desk, section, node.span, word.unwrap_or(Some(Word::Always)), pages);
    let replicas = replicas.unwrap_or(Some(1)).map(|n| n as usize);
    let kept = durability.zip(replicas).map(|(durability, replicas)| LogKept { durability, replicas });
    Some(Kept { broker, kept, at: node.span })
}

fn durability(
    desk: &mut Desk,
    section: &Fields<'_>,
    at: Span,
    word: Option<Word>,
    pages: Option<Option<Vec<String>>>,
) -> Option<Durability> {
    match (word?, pages) {
        (Word::Relaxed, None) => Some(Durability::Relaxed),
        (Word::Always, Some(pages)) => pages.map(Durability::Always),
        (Word::Relaxed, Some(_)) => {
            let told = format!("{}.monitor: nobody looks there with `durability: relaxed`", section.path);
            desk.tell(Code::ConfigValue, at, &told, Some("one of the two"));
            None
        }
        (Word::Always, None) => {
            let told = [&section.path, " has no `monitor`, and whether the broker syncs shows nowhere else"];
            let mend = format!("{MONITOR}, its monitoring page, or durability: relaxed");
            desk.tell(Code::ConfigMissing, at, &told.concat(), Some(&mend));
            None
        }
    }
}

/// One address or several: a page for each server of a cluster.
fn monitors(desk: &mut Desk, node: &Node, path: &str) -> Option<Vec<String>> {
    let found = match &node.value {
        Value::List(_) => value::texts(desk, node, path)?,
        _ => vec![value::text(desk, node, path)?],
    };
    found.iter().map(|page| monitor(desk, page, path)).collect::<Vec<_>>().into_iter().collect()
}

fn monitor(desk: &mut Desk, page: &At<String>, path: &str) -> Option<String> {
    let rest = page.value.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let parts = rest.and_then(|rest| rest.rsplit_once(':'));
    let is_page = parts.is_some_and(|(host, port)| {
        let plain = |c: char| !c.is_whitespace() && !"/?#,@".contains(c);
        !host.is_empty() && host.chars().all(plain) && port.parse::<u16>().is_ok()
    });
    if !is_page {
        let told = format!("{path}: `{}` is no address of a monitoring page", page.value);
        desk.tell(Code::ConfigValue, page.at, &told, Some("http://HOST:PORT, without a path"));
        return None;
    }
    rest.map(str::to_owned)
}

/// Tells of a file that names two brokers.
pub(super) fn check(desk: &mut Desk, bus: Option<Span>, kept: Option<&Kept>) {
    if let (Some(bus), Some(kept)) = (bus, kept) {
        let told = "bus: the broker that keeps the log carries everything else as well";
        desk.tell_seeing(Code::ConfigValue, bus, told, Some("leave `bus` out"), (kept.at, "named here"));
    }
}
