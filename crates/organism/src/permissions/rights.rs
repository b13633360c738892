//! The rights of each party. No two parties share a right.
//!
//! Each party has its own account at the broker. In one common account, a party that may send any request to the
//! broker could name another party's subject for the answer. The broker checks no rights for its own answers.

use systole_bus::{BrokerSubjects, to_token};
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

/// How a right crosses from one account into another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountCrossing {
    /// Not at all: it stays in the party's own account.
    Own,
    /// A request into the pump's account with at most one answer.
    Asks,
    /// A request into the pump's account that waits for answers, of which there may be several.
    Waits,
    /// Messages of the pump's account.
    Hears,
    /// A question from the pump's account that is answered within a moment.
    Answers,
    /// Events of the server, in the server's own account.
    Server,
}

/// A subject that a party may publish or subscribe to, and its purpose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerRight {
    /// The subject, in the syntax of the broker's configuration.
    pub subject: String,
    /// The purpose.
    pub words: &'static str,
    /// How it crosses accounts.
    pub way: AccountCrossing,
    /// Its name in the pump's account, if it differs.
    pub there: Option<String>,
}

/// One user of the broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerParty {
    /// The party's name for people: a listener's name, `the pump`, `an auditor`.
    pub shown: String,
    /// The listener, if it is one.
    pub listener: Option<Name>,
    /// The client, if it is one.
    pub client: Option<Name>,
    /// The file name of its key, without the extension. No listener's name contains `_`.
    pub key: String,
    /// Its account.
    pub account: String,
    /// The prefix of its inboxes.
    pub inbox: String,
    /// The subjects it may publish to.
    pub publish: Vec<BrokerRight>,
    /// The subjects it may subscribe to.
    pub subscribe: Vec<BrokerRight>,
}

impl BrokerParty {
    /// Its rights that cross into or out of the pump's account.
    pub fn crossing_rights(&self) -> impl Iterator<Item = &BrokerRight> {
        self.publish.iter().chain(&self.subscribe).filter(|right| right.way != AccountCrossing::Own)
    }

    /// Whether it answers questions from another account.
    pub fn answers_others(&self) -> bool {
        self.subscribe.iter().any(|right| right.way == AccountCrossing::Answers)
    }
}

fn allow(way: AccountCrossing, subject: String, words: &'static str) -> BrokerRight {
    BrokerRight { subject, words, way, there: None }
}

/// The parties of an organism, the pump first. Empty if nothing uses NATS: no listener, no client, no log.
pub fn list_parties(composition: &Composition, has_log: bool) -> Vec<BrokerParty> {
    let organism = &composition.organism;
    let listeners = composition.listeners.values().filter(|one| one.reach.is_over_broker());
    let listeners = listeners.map(|one| build_listener(organism, &one.name));
    let clients = composition.clients.iter().filter(|(_, one)| one.over_nats);
    let others: Vec<BrokerParty> =
        listeners.chain(clients.map(|(name, _)| build_client(organism, name))).collect();
    if others.is_empty() && !has_log {
        return Vec::new();
    }
    let mut parties = vec![build_pump(organism)];
    parties.extend(others);
    parties.push(build_auditor(organism));
    parties
}

fn build_subject(organism: &Name) -> impl Fn(&[&str]) -> String {
    let begin = format!("o.{}.", to_token(organism));
    move |rest| format!("{begin}{}", rest.concat())
}

fn build_listener(organism: &Name, name: &Name) -> BrokerParty {
    let (subject, part) = (build_subject(organism), to_token(name));
    let at = format!("{}.{part}", BrokerSubjects::new(organism).bus_stream());
    let own = |begin: &str, end: &str| format!("{begin}{at}{end}");
    let inbox = format!("_INBOX_{part}");
    let mut subscribe = vec![
        allow(AccountCrossing::Own, format!("{inbox}.>"), "answers to what it asked, and its deliveries"),
        allow(AccountCrossing::Hears, subject(&["cancel.", &part]), "that a delivery was taken back"),
    ];
    for verb in ["PING", "INFO", "STATS"] {
        for below in [String::new(), format!(".{part}"), format!(".{part}.*")] {
            let asked = format!("$SRV.{verb}{below}");
            subscribe.push(allow(
                AccountCrossing::Answers,
                asked,
                "who looks for services; it may answer once",
            ));
        }
    }
    BrokerParty {
        shown: name.to_string(),
        listener: Some(name.clone()),
        client: None,
        key: name.to_string(),
        account: format!("LISTENER_{part}"),
        publish: vec![
            allow(
                AccountCrossing::Asks,
                subject(&["in.", &part, ".*"]),
                "its replies, notices, journal entries and questions",
            ),
            allow(AccountCrossing::Asks, subject(&["live.", &part]), "its progress"),
            allow(AccountCrossing::Waits, own("$JS.API.CONSUMER.MSG.NEXT.", ""), "asking for its deliveries"),
            allow(AccountCrossing::Asks, own("$JS.ACK.", ".>"), "renewing and acknowledging its deliveries"),
        ],
        subscribe,
        inbox,
    }
}

fn build_client(organism: &Name, name: &Name) -> BrokerParty {
    let part = to_token(name);
    let inbox = format!("_INBOX_{part}");
    let asks = BrokerSubjects::new(organism).name_asked(name);
    BrokerParty {
        shown: format!("{}, a client", name.as_str()),
        listener: None,
        client: Some(name.clone()),
        key: name.to_string(),
        account: format!("CLIENT_{part}"),
        publish: vec![allow(AccountCrossing::Waits, asks, "its messages; what comes of them is answered")],
        subscribe: vec![allow(AccountCrossing::Own, format!("{inbox}.>"), "what is answered to it")],
        inbox,
    }
}

fn build_pump(organism: &Name) -> BrokerParty {
    let (subject, bus) = (build_subject(organism), BrokerSubjects::new(organism).bus_stream());
    let inbox = BrokerSubjects::name_inbox(organism);
    let mut publish = vec![
        allow(AccountCrossing::Own, subject(&["dlv.*"]), "deliveries"),
        allow(AccountCrossing::Own, subject(&["cancel.*"]), "that a delivery was taken back"),
        allow(
            AccountCrossing::Own,
            "_R_.>".to_owned(),
            "answers to what a listener asked, as the broker brings them back",
        ),
        allow(AccountCrossing::Own, subject(&["log.*"]), "the log, where it is kept in NATS"),
        allow(
            AccountCrossing::Own,
            subject(&["life.*"]),
            "showing other pumps of the organism that it lives",
        ),
        allow(
            AccountCrossing::Own,
            format!("$O.{}.>", BrokerSubjects::new(organism).bucket()),
            "what is too large for one message of that log",
        ),
        allow(AccountCrossing::Own, "$SRV.>".to_owned(), "looking for listeners as services"),
        allow(AccountCrossing::Own, "$JS.API.INFO".to_owned(), "asking what the broker keeps"),
    ];
    for stream in [bus, name_log_stream(organism), name_large_stream(organism)] {
        for (begin, end) in
            [("STREAM.*.", ""), ("STREAM.MSG.*.", ""), ("CONSUMER.*.", ""), ("CONSUMER.*.", ".>")]
        {
            let api = format!("$JS.API.{begin}{stream}{end}");
            publish.push(allow(
                AccountCrossing::Own,
                api,
                "making, reading and clearing its streams and consumers",
            ));
        }
    }
    for begin in ["STREAM.*.", "STREAM.MSG.*."] {
        let api = format!("$JS.API.{begin}{}", BrokerSubjects::new(organism).silence_stream());
        publish.push(allow(AccountCrossing::Own, api, "keeping and reading which workers died"));
    }
    // Separate storage is found and read through other subjects than the log.
    for begin in ["$JS.API.DIRECT.GET.", "$JS.FC."] {
        let subject = format!("{begin}{}.>", name_large_stream(organism));
        publish.push(allow(AccountCrossing::Own, subject, "reading what was too large for one message"));
    }
    let silent = BrokerSubjects::new(organism).silences();
    BrokerParty {
        shown: "the pump".to_owned(),
        listener: None,
        client: None,
        key: "_pump".to_owned(),
        account: "PUMP".to_owned(),
        publish,
        subscribe: vec![
            allow(AccountCrossing::Own, subject(&["in.>"]), "what listeners say, and what clients send"),
            allow(AccountCrossing::Own, subject(&["live.*"]), "their progress"),
            allow(AccountCrossing::Own, silent, "that a listener gave no sign of life"),
            allow(AccountCrossing::Own, subject(&["life.*"]), "whether another pump lives"),
            allow(AccountCrossing::Own, subject(&["log.*"]), "what another pump adds to the log"),
            BrokerRight {
                there: Some("$SYS.SERVER.*.CLIENT.AUTH.ERR".to_owned()),
                ..allow(
                    AccountCrossing::Server,
                    BrokerSubjects::new(organism).name_refused(),
                    "whom the broker did not let in",
                )
            },
            allow(AccountCrossing::Own, format!("{inbox}.>"), "answers to what it asked"),
        ],
        inbox,
    }
}

fn build_auditor(organism: &Name) -> BrokerParty {
    let (subject, bus, log) =
        (build_subject(organism), BrokerSubjects::new(organism).bus_stream(), name_log_stream(organism));
    let (inbox, api) =
        (BrokerSubjects::name_auditor_inbox().to_owned(), BrokerSubjects::name_auditor_api(organism));
    let asks = |what: &str, stream: &str, words| {
        let there = Some(format!("$JS.API.{what}.{stream}"));
        let here = format!("{api}.{what}.{stream}");
        BrokerRight { there, ..allow(AccountCrossing::Asks, here, words) }
    };
    BrokerParty {
        shown: "an auditor".to_owned(),
        listener: None,
        client: None,
        key: "_auditor".to_owned(),
        account: "AUDITOR".to_owned(),
        publish: vec![
            asks("STREAM.INFO", &bus, "asking how many deliveries are out"),
            asks("STREAM.INFO", &log, "asking how far the log goes, where it is kept in NATS"),
            asks("STREAM.MSG.GET", &log, "reading that log"),
            asks(
                "STREAM.MSG.GET",
                &name_large_stream(organism),
                "reading what of it is too large for one message",
            ),
        ],
        subscribe: vec![
            allow(AccountCrossing::Hears, subject(&["log.*"]), "what is added to that log"),
            allow(AccountCrossing::Own, format!("{inbox}.>"), "answers to what it asked"),
        ],
        inbox,
    }
}

fn name_log_stream(organism: &Name) -> String {
    BrokerSubjects::new(organism).log_stream()
}

/// The stream for data that is too large for one log message.
fn name_large_stream(organism: &Name) -> String {
    BrokerSubjects::new(organism).apart_stream()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_right_of_one_party_is_another_ones() {
        let name = |text: &str| Name::parse(text).unwrap();
        let of = |text: &str| build_listener(&name("shop"), &name(text));
        let (a, dotted, named_so) = (of("a"), of("a.b"), of("pump.shop"));
        let subjects = |party: &BrokerParty| {
            let all = party.publish.iter().map(|right| right.subject.clone());
            all.collect::<std::collections::BTreeSet<_>>()
        };
        assert!(subjects(&a).is_disjoint(&subjects(&dotted)));
        assert_eq!(a.publish.first().map(|right| right.subject.as_str()), Some("o.shop.in.a.*"));
        assert_eq!(dotted.publish.first().map(|right| right.subject.as_str()), Some("o.shop.in.a_b.*"));
        let pump = build_pump(&name("shop"));
        assert_ne!(named_so.account, pump.account);
        assert!(!subjects(&pump).contains("o.shop.in.a.*"));
    }
}
