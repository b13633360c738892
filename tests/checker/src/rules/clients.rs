//! Checks that the log matches the clients' histories.
//!
//! Before the log is read, the histories are merged into one entry for each message that a client has
//! a key for. During the read the entries meet their records. Mismatches are then reported.

use std::collections::{BTreeMap, HashMap};

use crate::history::{ClientHistory, HistoryReceipt, SeenAnswer};
use crate::ledger::LedgerStep;
use crate::meaning::{OpenedThrough, RecordAct};
use crate::path;
use crate::record::{RecordHash, RecordId};
use crate::report::{CheckFinding, CheckReport, ReportCounts};
use crate::tag;

/// The rules of this module, in the order in which they are judged.
pub(crate) const NAMES: [&str; 6] = ["kept", "receipt", "doubled", "refused", "seen", "token"];

/// A refusal that says nothing about the message: it was not known then whether the message is stored.
const NOT_KNOWN: &str = "ingress.unavailable";

/// Every message of the histories, by client and key.
#[derive(Default)]
pub(crate) struct ClientRules {
    messages: BTreeMap<(String, String), CheckedMessage>,
    /// The message that opened each open top call, by thread and call.
    asked: HashMap<String, BTreeMap<String, (String, String)>>,
    /// The last top call of a client that closed in each thread, with its message. It may be opened again.
    closed: HashMap<String, (String, (String, String))>,
}

/// One message, with everything that its client and the log say about it.
#[derive(Default)]
struct CheckedMessage {
    acked: Option<(HistoryReceipt, RecordHash)>,
    /// A receipt that differs from the first.
    other: Option<HistoryReceipt>,
    /// Refused bytes, with the code, and bytes whose outcome the client does not know.
    refused: Vec<(RecordHash, String)>,
    unknown: Vec<RecordHash>,
    seen: Vec<SeenAnswer>,
    token: Option<String>,
    stored: Option<StoredMessageUse>,
    times_stored: u64,
    /// How its call ended; before that, how it had ended each time when it was opened again.
    outcome: Option<CheckedOutcome>,
    earlier: Vec<CheckedOutcome>,
}

/// The record of a message.
struct StoredMessageUse {
    place: HistoryReceipt,
    sha256: RecordHash,
    /// Whether it joined an existing call, instead of opening one.
    is_word: bool,
}

/// The record that closed a message's call.
struct CheckedOutcome {
    position: u64,
    seq: u64,
    sha256: RecordHash,
    is_answer: bool,
    is_final: bool,
    has_token: bool,
}

impl ClientRules {
    /// Merges the histories.
    pub(crate) fn from_histories(histories: &[ClientHistory]) -> ClientRules {
        let mut clients = ClientRules::default();
        for sent in histories.iter().flat_map(|history| &history.sent) {
            let message = clients.messages.entry((sent.client.clone(), sent.key.clone())).or_default();
            match (&sent.acked, &sent.refused) {
                (Some(receipt), _) => match &message.acked {
                    None => message.acked = Some((receipt.clone(), sent.sha256)),
                    Some((first, sha256)) if first == receipt && *sha256 == sent.sha256 => {}
                    Some(_) => message.other = Some(receipt.clone()),
                },
                (None, Some(code)) if code != NOT_KNOWN => message.refused.push((sent.sha256, code.clone())),
                (None, _) => message.unknown.push(sent.sha256),
            }
            message.seen.extend(sent.answer.clone());
            if message.token.is_none() {
                message.token.clone_from(&sent.token);
            }
        }
        clients
    }

    /// Takes a record.
    pub(crate) fn note_step(&mut self, step: &LedgerStep<'_>) {
        let record = step.record;
        match step.act {
            Some(RecordAct::Opens { call, by: OpenedThrough::Client, .. }) => {
                if let Some(name) = self.note_message(step, &record.body, false) {
                    self.asked.entry(record.thread.clone()).or_default().insert(call.to_owned(), name);
                }
            }
            Some(RecordAct::Steers { .. }) => {
                // The core records the sender; the inner payload is the sender's.
                let word = tag::parse_root(&record.body).map_or("", |word| word.inside);
                self.note_message(step, word.as_bytes(), true);
            }
            Some(RecordAct::Terminal) => {
                let over = self.asked.remove(&record.thread).unwrap_or_default();
                over.into_values().for_each(|name| self.note_close(step, &name));
            }
            Some(RecordAct::Reopens { call, .. }) => {
                let Some((_, name)) = self.closed.remove(&record.thread).filter(|(path, _)| path == call)
                else {
                    return;
                };
                if let Some(message) = self.messages.get_mut(&name) {
                    message.earlier.extend(message.outcome.take());
                }
                self.asked.entry(record.thread.clone()).or_default().insert(call.to_owned(), name);
            }
            Some(act) => {
                let Some(call) = act.find_closed().filter(|call| path::is_top(call)) else { return };
                let Some(open) = self.asked.get_mut(&record.thread) else { return };
                let name = open.remove(call);
                if open.is_empty() {
                    self.asked.remove(&record.thread);
                }
                if let Some(name) = name {
                    self.note_close(step, &name);
                    self.closed.insert(record.thread.clone(), (call.to_owned(), name));
                }
            }
            None => {}
        }
    }

    /// Takes the record of a message. Returns its name if it is new.
    fn note_message(
        &mut self,
        step: &LedgerStep<'_>,
        payload: &[u8],
        is_word: bool,
    ) -> Option<(String, String)> {
        let record = step.record;
        let name = (record.from.clone(), record.key.clone()?);
        let message = self.messages.get_mut(&name)?;
        message.times_stored += 1;
        if message.stored.is_some() {
            return None;
        }
        let RecordId(id) = record.id;
        let (thread, seq, position) = (record.thread.clone(), record.seq, record.position);
        let place = HistoryReceipt { thread, seq, id: RecordId(id), position };
        message.stored = Some(StoredMessageUse { place, sha256: RecordHash::hash_bytes(payload), is_word });
        Some(name)
    }

    fn note_close(&mut self, step: &LedgerStep<'_>, name: &(String, String)) {
        let record = step.record;
        let Some(message) = self.messages.get_mut(name) else { return };
        let is_final = matches!(step.act, Some(RecordAct::Item { .. }));
        let token = message.token.as_deref().unwrap_or_default().as_bytes();
        message.outcome = Some(CheckedOutcome {
            position: record.position,
            seq: record.seq,
            sha256: RecordHash::hash_bytes(&record.body),
            is_answer: is_final || record.code.as_deref() == Some("handled"),
            is_final,
            has_token: token.is_empty() || record.body.windows(token.len()).any(|window| window == token),
        });
    }

    /// Judges every message, and counts the outcomes.
    pub(crate) fn judge_messages(&self, report: &mut CheckReport) {
        for ((client, key), message) in &self.messages {
            message.add_counts(&mut report.counts);
            let findings = [
                ("kept", message.check_kept()),
                ("receipt", message.check_receipt()),
                ("doubled", message.check_doubled()),
                ("refused", message.check_refused()),
                ("seen", message.check_seen()),
                ("token", message.check_token()),
            ];
            for (rule, found) in findings {
                let Some((place, words)) = found else { continue };
                let words = format!("key {key} of {client}: {words}");
                let HistoryReceipt { thread, seq, position, .. } = place;
                report.add_finding(CheckFinding { rule, position, thread, seq, words });
            }
        }
    }
}

/// The place and the description of a fault.
type MessageFinding = Option<(HistoryReceipt, String)>;

impl CheckedMessage {
    fn add_counts(&self, counts: &mut ReportCounts) {
        counts.doubled += u64::from(self.times_stored > 1);
        if self.acked.is_none() {
            return;
        }
        counts.acked += 1;
        match (&self.stored, &self.outcome) {
            (None, _) => counts.lost += 1,
            (Some(stored), _) if stored.is_word => counts.joined += 1,
            (_, None) => counts.open += 1,
            (_, Some(outcome)) if outcome.is_answer => counts.answered += 1,
            (_, Some(_)) => counts.failed += 1,
        }
    }

    /// An acknowledged message is in the log, at the acknowledged place and with its bytes.
    fn check_kept(&self) -> MessageFinding {
        let (receipt, sha256) = self.acked.as_ref()?;
        let Some(stored) = &self.stored else {
            return Some((receipt.clone(), "was acknowledged and is not in the log".into()));
        };
        if stored.place != *receipt {
            let words = format!(
                "was acknowledged for record {} of {}, position {}",
                receipt.seq, receipt.thread, receipt.position
            );
            return Some((stored.place.clone(), words));
        }
        (stored.sha256 != *sha256)
            .then(|| (receipt.clone(), "is in the log with other bytes than were acknowledged".into()))
    }

    /// A repeated message gets its first receipt again.
    fn check_receipt(&self) -> MessageFinding {
        let other = self.other.clone()?;
        Some((other, "a second receipt differs from the first, or is for other bytes".into()))
    }

    /// A key has one message.
    fn check_doubled(&self) -> MessageFinding {
        let stored = self.stored.as_ref().filter(|_| self.times_stored > 1)?;
        Some((stored.place.clone(), format!("has {} messages in the log", self.times_stored)))
    }

    /// A refused message is not in the log, unless the same bytes were also sent with another result.
    fn check_refused(&self) -> MessageFinding {
        let stored = self.stored.as_ref()?;
        let was_sent_again = self.unknown.contains(&stored.sha256)
            || self.acked.as_ref().is_some_and(|(_, sha256)| *sha256 == stored.sha256);
        let (_, code) = self.refused.iter().find(|(sha256, _)| *sha256 == stored.sha256)?;
        (!was_sent_again).then(|| (stored.place.clone(), format!("was refused as {code} and is in the log")))
    }

    /// An answer that a client saw is the outcome of its call, or was before the call was opened again.
    fn check_seen(&self) -> MessageFinding {
        let seen = self.seen.first()?;
        let place = self
            .stored
            .as_ref()
            .map(|stored| &stored.place)
            .or(self.acked.as_ref().map(|(receipt, _)| receipt));
        let Some(place) = place else {
            return Some((
                make_nowhere(),
                "the client saw an answer to a message that was never taken".into(),
            ));
        };
        let fits = |seen: &SeenAnswer| {
            let mut outcomes = self.earlier.iter().chain(&self.outcome);
            outcomes.any(|outcome| outcome.seq == seen.seq && outcome.sha256 == seen.sha256)
        };
        if self.seen.iter().all(fits) {
            return None;
        }
        let words =
            format!("the client saw record {} as its answer, which is not the outcome of its call", seen.seq);
        Some((place.clone(), words))
    }

    /// An answer has the token of its own question.
    fn check_token(&self) -> MessageFinding {
        let (outcome, token) = (self.outcome.as_ref()?, self.token.as_ref()?);
        if !outcome.is_final || outcome.has_token {
            return None;
        }
        let place = self.stored.as_ref().map(|stored| stored.place.clone())?;
        let place = HistoryReceipt { seq: outcome.seq, position: outcome.position, ..place };
        Some((place, format!("its answer is without the token {token} of its question")))
    }
}

fn make_nowhere() -> HistoryReceipt {
    HistoryReceipt { thread: String::new(), seq: 0, id: RecordId([0; 16]), position: 0 }
}
