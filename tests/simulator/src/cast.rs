//! The organism of every run: its listeners, and the payloads that they and the clients send. Pure. Every
//! payload has a token, which names its conversation, and a number that no other payload of the run has. So
//! duplicate records and wrong receivers are visible.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_core::types::budget::{Budgets, LoopLimits};
use systole_core::types::client::{Client, Role};
use systole_core::types::composition::{
    ApprovalRule, Composition, DeliveryRetry, DescribeScope, ElementSchema, Listener, ListenerSection,
    OnUnknown, Reach, SchemaId, ViewScope,
};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::limits::{QUEUE_CALLS, STUCK_MS};
use systole_kit::money::Money;
use systole_kit::writer::{self, XmlWriter};
use systole_kit::{Payload, QName, namespaces};
use systole_soak::dice::SeededDice;

/// The namespace of every payload that is not from the core.
const NS: &str = "urn:simulated";

/// Thinks for four turns, and may ask everyone.
pub(crate) const AGENT: &str = "agent";
/// Answers at once.
pub(crate) const TOOL: &str = "tool";
/// Answers at once, one at a time, and is given up after a silence.
pub(crate) const OTHER: &str = "other";
/// Owes no answer.
pub(crate) const QUIET: &str = "quiet";
/// Its attempts are recorded, and an attempt with an unknown outcome is not repeated.
pub(crate) const CAREFUL: &str = "careful";

/// The word for the model that two agents need.
pub(crate) const MODEL: &str = "model.main";

/// Whether a listener is an agent.
pub(crate) fn needs_model(listener: &Name) -> bool {
    [AGENT, OTHER].contains(&listener.as_str())
}

/// How long calls of a run wait for someone who is away: mostly not long enough.
pub(crate) fn outage_ms(dice: &mut SeededDice) -> u64 {
    dice.one_of(&[3_000, 20_000, 60_000, 3 * 86_400_000]).copied().unwrap_or_default()
}

/// Answers what a person approved.
pub(crate) const WARDED: &str = "warded";
/// How long a request waits for a person.
pub(crate) const PATIENCE_MS: u64 = 20_000;

/// How long a message may take if that is limited.
const MOST_WALL_MS: u64 = 5_000;

/// A name that is written in this crate's source.
pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap_or_else(|_| Name::new_core())
}

fn listener(who: &str, peers: &[&str], turns: u32, returns: &[&str]) -> Listener {
    let element = |local: &&str| ElementSchema { name: QName::new(NS, local), schema: SchemaId(2) };
    Listener {
        name: name(who),
        reach: Reach::Inline,
        accepts: vec![element(&who)],
        returns: returns.iter().map(element).collect(),
        note: Some(SchemaId(2)),
        peers: peers.iter().map(|peer| name(peer)).collect(),
        turns,
        sees: ViewScope::Call,
        share_percent: 50,
        in_flight: 2,
        rate: None,
        timeout_ms: 30_000,
        idle_ms: None,
        retry: DeliveryRetry { attempts: 3, first_ms: 1_000, longest_ms: 30_000 },
        on_unknown: OnUnknown::Retry,
        approval: ApprovalRule::default(),
        timer_tell: Vec::new(),
        entry: true,
        describe: DescribeScope::Peers,
    }
}

/// The listeners that workers on other machines are, in a run.
#[derive(Clone, Default)]
pub(crate) struct Remote {
    names: Vec<Name>,
    /// Whether one of the configurations has them on this machine.
    comes_home: bool,
}

impl Remote {
    /// Drawn for a run.
    pub(crate) fn of(dice: &mut SeededDice) -> Remote {
        let all = [TOOL, CAREFUL, OTHER, AGENT, WARDED, QUIET];
        let names = all.into_iter().filter(|_| dice.percent(50)).map(name).collect();
        Remote { names, comes_home: dice.percent(25) }
    }

    fn moves(&self, composition: &mut Composition) {
        for listener in self.names.iter() {
            if let Some(listener) = composition.listeners.get_mut(listener) {
                listener.reach = Reach::Nats;
            }
        }
    }
}

/// The compositions that a run may start with: the original, and changed ones. In a wide run the thrifty one
/// also limits time.
pub(crate) fn compositions(is_wide: bool, remote: &Remote, outage_ms: u64) -> Vec<Composition> {
    let mut as_written = Composition { outage_ms, ..composition() };
    remote.moves(&mut as_written);
    let changed = |hash: u8, change: &dyn Fn(&mut Composition)| {
        let mut changed = Composition { hash: Digest([hash; 32]), ..as_written.clone() };
        change(&mut changed);
        changed
    };
    let narrow = changed(8, &|c| c.listeners.values_mut().for_each(|l| l.in_flight = 1));
    let hasty = changed(9, &|c| {
        c.listeners.remove(OTHER);
        c.listeners.values_mut().for_each(|l| (l.turns, l.timeout_ms) = (l.turns.min(2), 4_000));
    });
    let bold = changed(10, &|c| {
        c.listeners.values_mut().for_each(|l| l.on_unknown = OnUnknown::Retry);
        if remote.comes_home {
            c.listeners.values_mut().for_each(|l| l.reach = Reach::Inline);
        }
    });
    let thrifty = changed(11, &|c| {
        let (tokens, money) = (Some(300), Money::parse("0.05 USD"));
        let wall_ms = is_wide.then_some(MOST_WALL_MS);
        let (requests, keeps_finals) = (None, false);
        let (messages, depth, children) = (6, 4, 3);
        c.budgets =
            Some(Budgets { messages, depth, children, tokens, money, wall_ms, requests, keeps_finals });
        c.loops = Some(LoopLimits { told: 2, refused: 3, ping_pong: 2 });
    });
    let asking = changed(12, &|c| {
        c.listeners.values_mut().filter(|l| l.on_unknown == OnUnknown::Fail).for_each(|l| {
            l.on_unknown = OnUnknown::Ask;
            l.approval.expires_ms = PATIENCE_MS;
        });
    });
    vec![as_written, narrow, hasty, bold, thrifty, asking]
}

/// The original composition.
pub(crate) fn composition() -> Composition {
    let agent = listener(AGENT, &[AGENT, TOOL, OTHER, QUIET, CAREFUL, WARDED], 6, &["done"]);
    let agent = Listener { timer_tell: vec![name(QUIET)], ..agent };
    let other = Listener { in_flight: 1, idle_ms: Some(10_000), ..listener(OTHER, &[], 1, &["done"]) };
    let careful = Listener { on_unknown: OnUnknown::Fail, ..listener(CAREFUL, &[], 1, &["done"]) };
    let approval = ApprovalRule { always: true, expires_ms: PATIENCE_MS, tell: vec![name(QUIET)] };
    let warded = Listener { approval, ..listener(WARDED, &[], 1, &["done"]) };
    let listeners =
        [agent, listener(TOOL, &[], 1, &["done"]), other, listener(QUIET, &[], 1, &[]), careful, warded];
    Composition {
        organism: name("simulated"),
        hash: Digest([7; 32]),
        source: Arc::from(&b"simulated"[..]),
        entry: None,
        listeners: listeners.into_iter().map(|l| (l.name.clone(), l)).collect(),
        schemas: Vec::new(),
        message_bytes: 1 << 20,
        outage_ms: 0,
        stuck_ms: STUCK_MS,
        queue_calls: QUEUE_CALLS,
        budgets: None,
        loops: None,
        broadcasts: Vec::new(),
        clients: clients(),
        doors: Default::default(),
        sections: agents(),
    }
}

/// The sections of the agents, which share the words for those who are away.
fn agents() -> BTreeMap<Name, ListenerSection> {
    let section = |who| ListenerSection { path: format!("agents.{who}"), text: String::new() };
    [AGENT, OTHER].into_iter().map(|who| (name(who), section(who))).collect()
}

/// The token of a conversation. No token is part of another.
pub(crate) fn token(number: u64) -> String {
    let digits = number.to_string();
    format!("t{}{digits}", "00000".get(digits.len()..).unwrap_or_default())
}

/// A payload of that name and conversation, with its own number.
pub(crate) fn payload(local: &'static str, token: &str, number: u64) -> Option<Payload> {
    let mut writer = XmlWriter::with_capacity(96);
    writer.open(local).xmlns(NS).attr("token", token).number("n", number).empty();
    Payload::from_trusted(Arc::from(writer.finish())).ok()
}

/// A payload for a listener. Its root element has the listener's name.
pub(crate) fn request(to: &Name, token: &str, number: u64) -> Option<Payload> {
    let mut writer = XmlWriter::with_capacity(96);
    let start = writer.open(writer::XmlName::new(to.as_str())?);
    start.xmlns(NS).attr("token", token).number("n", number).empty();
    Payload::from_trusted(Arc::from(writer.finish())).ok()
}

/// A `<spawn-thread>` around the first payload of a child.
pub(crate) fn spawn(label: Option<&str>, initial: &Payload) -> Option<Payload> {
    let mut writer = XmlWriter::with_capacity(256);
    let start = writer.open("spawn-thread").xmlns(namespaces::CORE).attr_if("suggested_sub_id", label);
    start.content(|inside| inside.open("initial-payload").write_payload(initial));
    Payload::from_trusted(Arc::from(writer.finish())).ok()
}

/// The values of an attribute that only payloads of the cast have, in order.
fn values<'d>(document: &'d [u8], before: &'static str) -> impl Iterator<Item = &'d str> {
    let text = str::from_utf8(document).unwrap_or_default();
    text.split(before).skip(1).filter_map(|rest| rest.split('"').next())
}

/// The parts of a document that are recalled, or those that are not: recalled text may belong to any
/// conversation.
fn parts(document: &[u8], recalled: bool) -> impl Iterator<Item = &[u8]> {
    let text = str::from_utf8(document).unwrap_or_default();
    let after_start = text.split("<recalled ").enumerate();
    let parts = after_start.flat_map(|(place, part)| match (place, part.split_once("</recalled>")) {
        (0, _) | (_, None) => [(false, part), (true, "")],
        (_, Some((inside, after))) => [(true, inside), (false, after)],
    });
    parts.filter(move |(inside, _)| *inside == recalled).map(|(_, part)| part.as_bytes())
}

/// The tokens in a document, without its recalled parts.
pub(crate) fn tokens(document: &[u8]) -> impl Iterator<Item = &str> {
    parts(document, false).flat_map(|part| values(part, " token=\""))
}

/// The tokens in the recalled parts of a document, without a token that is cut off with the text.
pub(crate) fn recalled_tokens(document: &[u8]) -> impl Iterator<Item = &str> {
    parts(document, true).flat_map(|part| values(part, " token=\"")).filter(|token| !token.contains('<'))
}

/// The children whose confirmations are in a document.
pub(crate) fn children(document: &[u8]) -> impl Iterator<Item = &str> {
    parts(document, false).flat_map(|part| values(part, " assigned_id=\""))
}

/// The timers that a document reports as fired.
pub(crate) fn fired(document: &[u8]) -> impl Iterator<Item = &str> {
    let text = str::from_utf8(document).unwrap_or_default();
    let tags = text.split("<timer-fired ").skip(1).filter_map(|rest| rest.split('>').next());
    tags.filter_map(|tag| tag.split("id=\"").nth(1)?.split('"').next())
}

/// A steering payload from outside to that listener: it has no conversation, because it joins the one at
/// work.
pub(crate) fn word(to: &Name, number: u64) -> Option<Payload> {
    let mut writer = XmlWriter::with_capacity(96);
    writer.open(writer::XmlName::new(to.as_str())?).xmlns(NS).number("n", number).empty();
    Payload::from_trusted(Arc::from(writer.finish())).ok()
}

/// The number of a payload; none if the core wrote it.
pub(crate) fn number(body: &[u8]) -> Option<u64> {
    values(body, " n=\"").next().and_then(|digits| digits.parse().ok())
}

/// Whether a client acts on others' threads.
pub(crate) fn operates(client: &Name) -> bool {
    *client == Name::new_operator() || clients().get(client).is_some_and(|c| c.roles.contains(&Role::Operate))
}

/// Alice acts on others' threads, bob on his own; the operator needs no permission.
fn clients() -> BTreeMap<Name, Client> {
    let client = |client, roles| {
        (name(client), Client { may: None, roles, over_nats: false, doors: None, rate: None })
    };
    BTreeMap::from([client("alice", vec![Role::Operate]), client("bob", Vec::new())])
}
