//! Why a broker cannot be used, in words for the person who runs the organism: what was found where, and what to
//! change. It contains no secret, and the broker's own words are cut to a line.

use std::time::Duration;

use systole_core::types::codes::Code;

/// Why a broker cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each case names its parts")]
pub enum BrokerFault {
    /// This is no address. It is not repeated, because it may contain a password.
    #[error("the broker's address {why}")]
    Address { why: String },
    /// Nothing can be signed with the credentials.
    #[error("the broker's credentials are not the seed of an nkey")]
    Credentials,
    /// No server answers, or the connection broke.
    #[error("the broker at {address} cannot be reached: {why}")]
    Unreachable { address: String, why: String },
    /// A server is there and does not answer.
    #[error("the broker at {address} gave no answer within {} ms when {what}", patience.as_millis())]
    Silent { address: String, what: String, patience: Duration },
    /// It does not know these credentials.
    #[error("the broker at {address} does not let in a client {}", if *shows_key { "with this nkey" } else { "without credentials" })]
    Unauthorized { address: String, shows_key: bool },
    /// It lets the pump or an auditor in, and does not let it do its work.
    #[error("the broker at {address} forbids the {who} what it needs: {what}")]
    Forbidden { address: String, who: &'static str, what: String },
    /// It is older than what the pump relies on.
    #[error("the broker at {address} is nats-server {version}, at least 2.12 is needed")]
    Old { address: String, version: String },
    /// It keeps nothing.
    #[error("the broker at {address} has no JetStream{}", if *for_account { " for the pump's account" } else { "" })]
    NoJetStream { address: String, for_account: bool },
    /// It stores messages that it must refuse.
    #[error("the broker at {address} stored a message whose expected last sequence was stale")]
    Forgetful { address: String },
    /// There is no such stream.
    #[error("there is no stream {stream} at {address}")]
    Absent { address: String, stream: String },
    /// A stream of someone else has our stream's name, or takes its subjects.
    #[error("the stream {stream} at {address} cannot be used: {why}")]
    Foreign { address: String, stream: String, why: String },
    /// Our stream is not as we made it.
    #[error("the stream {stream} at {address} is not as it was made: {why}")]
    Altered { address: String, stream: String, why: String, fix: &'static str },
    /// The cluster does not keep this many copies.
    #[error("the stream {stream} at {address} is not kept in {copies} copies: {why}")]
    Copies { address: String, stream: String, copies: usize, why: String },
    /// Our stream, made by a later version.
    #[error("the stream {stream} at {address} has format {found}; this version reads up to {known}")]
    Newer { address: String, stream: String, found: String, known: u32 },
    /// It is not visible whether it syncs what it takes.
    #[error("it cannot be seen whether the broker syncs every commit, at http://{page}: {why}")]
    Unseen { page: String, why: String },
    /// It confirms messages that a power cut may take.
    #[error("the broker with the page http://{page} confirms a commit before it is on disk")]
    Unsynced { page: String },
    /// The broker refuses, with its own reason.
    #[error("the broker at {address} refused when {what}: {why}")]
    Refused { address: String, what: String, why: String },
}

impl BrokerFault {
    /// The code in the table.
    pub fn code(&self) -> Code {
        match self {
            BrokerFault::Address { .. } | BrokerFault::Credentials => Code::ConfigValue,
            BrokerFault::Unreachable { .. } | BrokerFault::Silent { .. } | BrokerFault::Unseen { .. } => {
                Code::BusUnreachable
            }
            BrokerFault::Unauthorized { .. } | BrokerFault::Forbidden { .. } => Code::BusForbidden,
            BrokerFault::Old { .. }
            | BrokerFault::NoJetStream { .. }
            | BrokerFault::Forgetful { .. }
            | BrokerFault::Absent { .. }
            | BrokerFault::Foreign { .. }
            | BrokerFault::Altered { .. }
            | BrokerFault::Copies { .. }
            | BrokerFault::Newer { .. }
            | BrokerFault::Unsynced { .. }
            | BrokerFault::Refused { .. } => Code::BusUnfit,
        }
    }

    /// Whether it may pass by itself: a broker that restarts, or a cluster that elects a leader.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            BrokerFault::Unreachable { .. } | BrokerFault::Silent { .. } | BrokerFault::Refused { .. }
        )
    }

    /// Whether no broker answers there.
    pub fn is_away(&self) -> bool {
        matches!(self, BrokerFault::Unreachable { .. } | BrokerFault::Silent { .. })
    }

    /// What to change.
    pub fn fix(&self) -> String {
        let fix = match self {
            BrokerFault::Address { .. } => {
                "nats://HOST:PORT, or tls://HOST:PORT, with the credentials beside it"
            }
            BrokerFault::Credentials => "the seed of a user, which begins with SU",
            BrokerFault::Unreachable { .. } => "start nats-server there, or the address where it listens",
            BrokerFault::Silent { .. } => {
                "check that this is a nats-server, and whether load or its disk slows it down; see its log"
            }
            BrokerFault::Unauthorized { .. } => {
                "the credentials of a user that the broker's configuration has"
            }
            BrokerFault::Forbidden { who, .. } => {
                return format!("that right for the {who}'s user, in the broker's configuration");
            }
            BrokerFault::Old { .. } => "nats-server 2.12 or newer",
            BrokerFault::NoJetStream { for_account: false, .. } => {
                "jetstream { store_dir: \"FOLDER\", sync_interval: always } in the broker's configuration"
            }
            BrokerFault::NoJetStream { for_account: true, .. } => {
                "jetstream: enabled for that account, in the broker's configuration"
            }
            BrokerFault::Forgetful { .. } => {
                "nats-server itself, 2.12 or newer, with nothing between that rewrites messages"
            }
            BrokerFault::Absent { .. } => {
                "systole run, which makes it; or the organism's name and its broker, as on the machine where it runs"
            }
            BrokerFault::Foreign { .. } => {
                "another name for the organism, or another account or name for what has that stream"
            }
            BrokerFault::Altered { stream, fix, .. } => return format!("nats stream rm {stream} {fix}"),
            BrokerFault::Copies { .. } => {
                "log.replicas of at most the number of servers in the cluster, each with JetStream and room"
            }
            BrokerFault::Unseen { .. } => {
                "http: \"127.0.0.1:8222\" in the configuration of every server, and log.monitor with the addresses of all; or log.durability: relaxed"
            }
            BrokerFault::Unsynced { .. } => {
                "sync_interval: always, under jetstream in the broker's configuration; or log.durability: relaxed, if commits may be lost with its power"
            }
            BrokerFault::Newer { .. } => "the version of systole that made it, or a newer one",
            BrokerFault::Refused { .. } => "read the broker's message; its own log may say more",
        };
        fix.to_owned()
    }
}

/// Words from elsewhere, made part of a line.
pub(super) fn make_line(words: &str) -> String {
    let mut line: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|c| !c.is_control());
    if let Some((end, _)) = line.char_indices().nth(crate::limits::REPEATED) {
        line.truncate(end);
        line.push('…');
    }
    line
}
