//! The rights of each party, none of which another one has.
//!
//! Each party has an account of its own at the broker. Within one account for all, who may ask the broker anything could
//! name another's subject as the place for the answer, and the broker checks no right for what it answers itself.

use crate::edges::nats::{Subjects, token};
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

/// How a right reaches from one account into another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Not at all: it ends in the party's own account.
    Own,
    /// A request into the pump's account, answered once at most.
    Asks,
    /// A request into the pump's account that waits for what comes, and what comes may be several.
    Waits,
    /// What the pump's account says.
    Hears,
    /// A question of the pump's account, answered within a moment.
    Answers,
    /// What the server says of itself, in its own account.
    Server,
}

/// A subject that a party may publish to or hear, and what for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Right {
    /// The subject, as the broker's configuration has it.
    pub subject: String,
    /// What for.
    pub words: &'static str,
    /// How it gets there.
    pub way: Way,
    /// What it is called in the pump's account, where that is another name.
    pub there: Option<String>,
}

/// One user of the broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Party {
    /// What people call it: a listener's name, `the pump`, `an auditor`.
    pub shown: String,
    /// The listener, if it is one.
    pub listener: Option<Name>,
    /// The client, if it is one.
    pub client: Option<Name>,
    /// What its key's file is called, without the end. No listener's name has a `_`.
    pub key: String,
    /// Its account.
    pub account: String,
    /// What its inboxes begin with.
    pub inbox: String,
    /// What it may publish to.
    pub publish: Vec<Right>,
    /// What it may hear.
    pub subscribe: Vec<Right>,
}

impl Party {
    /// Its rights that reach into or out of the pump's account.
    pub fn reaching(&self) -> impl Iterator<Item = &Right> {
        self.publish.iter().chain(&self.subscribe).filter(|right| right.way != Way::Own)
    }

    /// Whether it answers questions that come from elsewhere.
    pub fn answers(&self) -> bool {
        self.subscribe.iter().any(|right| right.way == Way::Answers)
    }
}

fn right(way: Way, subject: String, words: &'static str) -> Right {
    Right { subject, words, way, there: None }
}

/// The parties of an organism, the pump first; none where nobody is reached or comes in over NATS and no log is there.
pub fn parties(composition: &Composition, has_log: bool) -> Vec<Party> {
    let organism = &composition.organism;
    let listeners = composition.listeners.values().filter(|one| one.reach.is_over_broker());
    let listeners = listeners.map(|one| listener(organism, &one.name));
    let clients = composition.clients.iter().filter(|(_, one)| one.over_nats);
    let others: Vec<Party> = listeners.chain(clients.map(|(name, _)| client(organism, name))).collect();
    if others.is_empty() && !has_log {
        return Vec::new();
    }
    let mut parties = vec![pump(organism)];
    parties.extend(others);
    parties.push(auditor(organism));
    parties
}

fn of_organism(organism: &Name) -> impl Fn(&[&str]) -> String {
    let begin = format!("o.{}.", token(organism));
    move |rest| [&begin, &*rest.concat()].concat()
}

fn listener(organism: &Name, name: &Name) -> Party {
    let (subject, part) = (of_organism(organism), token(name));
    let at = format!("{}.{part}", Subjects::of(organism).bus_stream());
    let own = |begin: &str, end: &str| [begin, &at, end].concat();
    let inbox = format!("_INBOX_{part}");
    let mut subscribe = vec![
        right(Way::Own, format!("{inbox}.>"), "answers to what it asked, and its deliveries"),
        right(Way::Hears, subject(&["cancel.", &part]), "that a delivery was taken back"),
    ];
    for verb in ["PING", "INFO", "STATS"] {
        for below in [String::new(), format!(".{part}"), format!(".{part}.*")] {
            let asked = format!("$SRV.{verb}{below}");
            subscribe.push(right(Way::Answers, asked, "who looks for services; it may answer once"));
        }
    }
    Party {
        shown: name.to_string(),
        listener: Some(name.clone()),
        client: None,
        key: name.to_string(),
        account: format!("LISTENER_{part}"),
        publish: vec![
            right(
                Way::Asks,
                subject(&["in.", &part, ".*"]),
                "its replies, notices, journal entries and questions",
            ),
            right(Way::Asks, subject(&["live.", &part]), "its progress"),
            right(Way::Waits, own("$JS.API.CONSUMER.MSG.NEXT.", ""), "asking for its deliveries"),
            right(Way::Asks, own("$JS.ACK.", ".>"), "renewing and acknowledging its deliveries"),
        ],
        subscribe,
        inbox,
    }
}

fn client(organism: &Name, name: &Name) -> Party {
    let part = token(name);
    let inbox = format!("_INBOX_{part}");
    let asks = Subjects::of(organism).asked(name);
    Party {
        shown: format!("{}, a client", name.as_str()),
        listener: None,
        client: Some(name.clone()),
        key: name.to_string(),
        account: format!("CLIENT_{part}"),
        publish: vec![right(Way::Waits, asks, "its messages; what comes of them is answered")],
        subscribe: vec![right(Way::Own, format!("{inbox}.>"), "what is answered to it")],
        inbox,
    }
}

fn pump(organism: &Name) -> Party {
    let (subject, bus) = (of_organism(organism), Subjects::of(organism).bus_stream());
    let inbox = Subjects::inbox(organism);
    let mut publish = vec![
        right(Way::Own, subject(&["dlv.*"]), "deliveries"),
        right(Way::Own, subject(&["cancel.*"]), "that a delivery was taken back"),
        right(
            Way::Own,
            "_R_.>".to_owned(),
            "answers to what a listener asked, as the broker brings them back",
        ),
        right(Way::Own, subject(&["log.*"]), "the log, where it is kept in NATS"),
        right(Way::Own, subject(&["life.*"]), "showing other pumps of the organism that it lives"),
        right(
            Way::Own,
            format!("$O.{}.>", Subjects::of(organism).bucket()),
            "what is too large for one message of that log",
        ),
        right(Way::Own, "$SRV.>".to_owned(), "looking for listeners as services"),
        right(Way::Own, "$JS.API.INFO".to_owned(), "asking what the broker keeps"),
    ];
    for stream in [bus.clone(), log_stream(organism), apart(organism)] {
        for (begin, end) in
            [("STREAM.*.", ""), ("STREAM.MSG.*.", ""), ("CONSUMER.*.", ""), ("CONSUMER.*.", ".>")]
        {
            let api = format!("$JS.API.{begin}{stream}{end}");
            publish.push(right(Way::Own, api, "making, reading and clearing its streams and consumers"));
        }
    }
    // What lies apart is looked for and read in another way than the log itself.
    for begin in ["$JS.API.DIRECT.GET.", "$JS.FC."] {
        let subject = format!("{begin}{}.>", apart(organism));
        publish.push(right(Way::Own, subject, "reading what was too large for one message"));
    }
    let silent = format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{bus}.*");
    Party {
        shown: "the pump".to_owned(),
        listener: None,
        client: None,
        key: "_pump".to_owned(),
        account: "PUMP".to_owned(),
        publish,
        subscribe: vec![
            right(Way::Own, subject(&["in.>"]), "what listeners say, and what clients send"),
            right(Way::Own, subject(&["live.*"]), "their progress"),
            right(Way::Own, silent, "that a listener gave no sign of life"),
            right(Way::Own, subject(&["life.*"]), "whether another pump lives"),
            right(Way::Own, subject(&["log.*"]), "what another pump adds to the log"),
            Right {
                there: Some("$SYS.SERVER.*.CLIENT.AUTH.ERR".to_owned()),
                ..right(Way::Server, Subjects::of(organism).refused(), "whom the broker did not let in")
            },
            right(Way::Own, format!("{inbox}.>"), "answers to what it asked"),
        ],
        inbox,
    }
}

fn auditor(organism: &Name) -> Party {
    let (subject, bus, log) =
        (of_organism(organism), Subjects::of(organism).bus_stream(), log_stream(organism));
    let (inbox, api) = (Subjects::inbox_of_auditors().to_owned(), Subjects::api_of_auditors(organism));
    let asks = |what: &str, stream: &str, words| {
        let there = Some(format!("$JS.API.{what}.{stream}"));
        let here = format!("{api}.{what}.{stream}");
        Right { there, ..right(Way::Asks, here, words) }
    };
    Party {
        shown: "an auditor".to_owned(),
        listener: None,
        client: None,
        key: "_auditor".to_owned(),
        account: "AUDITOR".to_owned(),
        publish: vec![
            asks("STREAM.INFO", &bus, "asking how many deliveries are out"),
            asks("STREAM.INFO", &log, "asking how far the log goes, where it is kept in NATS"),
            asks("STREAM.MSG.GET", &log, "reading that log"),
            asks("STREAM.MSG.GET", &apart(organism), "reading what of it is too large for one message"),
        ],
        subscribe: vec![
            right(Way::Hears, subject(&["log.*"]), "what is added to that log"),
            right(Way::Own, format!("{inbox}.>"), "answers to what it asked"),
        ],
        inbox,
    }
}

fn log_stream(organism: &Name) -> String {
    Subjects::of(organism).log_stream()
}

/// The stream of what is too large for one message of the log.
fn apart(organism: &Name) -> String {
    Subjects::of(organism).apart_stream()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_right_of_one_party_is_another_ones() {
        let name = |text: &str| Name::parse(text).unwrap();
        let of = |text: &str| listener(&name("shop"), &name(text));
        let (a, dotted, named_so) = (of("a"), of("a.b"), of("pump.shop"));
        let subjects = |party: &Party| {
            let all = party.publish.iter().map(|right| right.subject.clone());
            all.collect::<std::collections::BTreeSet<_>>()
        };
        assert!(subjects(&a).is_disjoint(&subjects(&dotted)));
        assert_eq!(a.publish.first().map(|right| right.subject.as_str()), Some("o.shop.in.a.*"));
        assert_eq!(dotted.publish.first().map(|right| right.subject.as_str()), Some("o.shop.in.a_b.*"));
        let pump = pump(&name("shop"));
        assert_ne!(named_so.account, pump.account);
        assert!(!subjects(&pump).contains("o.shop.in.a.*"));
    }
}
