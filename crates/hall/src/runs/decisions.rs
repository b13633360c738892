//! Decisions of a client on what waits for a person in its runs. One counts only if the client has seen just what waits;
//! the same decision again is taken, and another one refused.

use systole_queries::asked_decisions::{KnownDecision, find_asked, read_decision};
use systole_queries::persons::{RequestSubject, WaitingRequest};

use crate::http_state::HttpState;
use crate::log_view::{LogMoment, MomentAsked};
use crate::request_refusals::{describe_stopping, describe_unfit_request};
use crate::steering::read_order;
use crate::waiting::{add_changes, list_requests};
use systole_api::types::{ApiReceipt, ApiRuling, DecisionOutcome};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, PlacedRecord, Position};
use systole_core::types::refusal::Refusal;
use systole_following::run_ids::read_receipt;
use systole_organism::waiting::SenderReply;
use systole_payloads::json_payload;

/// A decision as a client sends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestDecision {
    /// `None` shows what waits.
    pub outcome: Option<DecisionOutcome>,
    /// What is decided.
    pub request: PersonRequestId,
    /// The note, or the answer to a question.
    pub words: String,
    /// What is to be sent instead: the JSON form of the whole payload.
    pub amended: Option<String>,
}

/// Where a decision counts.
pub struct DecisionPlace<'d> {
    /// The messages in whose runs it may wait, by their threads and records.
    pub messages: Vec<(ThreadId, u64)>,
    /// Whether the client has seen a request as it waits.
    pub is_shown: &'d (dyn Fn(&WaitingRequest) -> bool + Send + Sync),
    /// What to do if it does not count.
    pub fix: String,
    /// Whether the client names that hash of what was decided.
    pub has_seen: &'d (dyn Fn(&str) -> bool + Send + Sync),
    /// Whether it is only looked whether it counts.
    pub only_checks: bool,
}

/// The run that a decision lets go on.
pub struct DecidedRun {
    /// What the client gets for it.
    pub receipt: ApiReceipt,
    /// What it did up to there was told before.
    pub told: Position,
}

impl RequestDecision {
    /// A decision with its words.
    pub fn new(outcome: DecisionOutcome, request: PersonRequestId, words: String) -> RequestDecision {
        RequestDecision { outcome: Some(outcome), request, words, amended: None }
    }

    /// Decides what waits in one of these runs, or shows it. If it was decided before, what shows it and the same
    /// decision again get the rest of the run.
    pub async fn decide(
        self,
        state: &HttpState,
        client: &Name,
        place: DecisionPlace<'_>,
    ) -> Result<DecidedRun, Box<Refusal>> {
        let (request, told) = (self.request, state.front.end());
        let refuse =
            |code: Code, words: String| Err(Box::new(Refusal::new(code, words).fixed_by(place.fix.clone())));
        let messages = place.messages;
        let found = read_log(state, client, move |moment| find_run(moment, &messages, request)).await?;
        let Some((waiting, asked, asked_at)) = found else {
            return refuse(Code::UnknownApproval, format!("{request} does not wait here"));
        };
        let receipt = read_receipt(&asked);
        let waiting = match waiting {
            AskedRequest::Waiting(waiting) => *waiting,
            AskedRequest::Decided(decided) => {
                let organism = state.front.composition();
                let is_same = |decided: &KnownDecision| {
                    self.is_same(organism, decided) && (place.has_seen)(&decided.hash)
                };
                // Its run was stopped: nothing was decided, and who leaves it gets what came of it.
                if decided.is_none() && self.outcome.is_none() {
                    return Ok(DecidedRun { receipt, told: asked_at });
                }
                let Some(same) = decided.filter(|decided| is_same(decided)) else {
                    return refuse(Code::DecidedApproval, format!("{request} was decided before"));
                };
                return Ok(DecidedRun { receipt, told: same.at });
            }
        };
        let Some(outcome) = self.outcome else { return Ok(DecidedRun { receipt, told }) };
        if !(place.is_shown)(&waiting) {
            return refuse(Code::MismatchedApproval, format!("{request} was not shown here as it is"));
        }
        let ruling = self.into_ruling(state.front.composition(), (outcome, &waiting))?;
        let order = read_order(client.clone(), request, ruling)
            .map_err(|words| Box::new(describe_unfit_request(words)))?;
        if place.only_checks {
            return Ok(DecidedRun { receipt, told });
        }
        match state.front.rule_request(order).await {
            Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(DecidedRun { receipt, told }),
            Some(SenderReply::Refused(refusal)) => Err(refusal),
            None => Err(Box::new(describe_stopping())),
        }
    }

    /// Whether that is what was decided.
    fn is_same(&self, organism: &Composition, decided: &KnownDecision) -> bool {
        let words = Some(self.words.as_str());
        match self.outcome {
            None => true,
            Some(DecisionOutcome::Approved) => decided.outcome == "approved",
            Some(DecisionOutcome::Rejected) => decided.outcome == "rejected",
            Some(DecisionOutcome::Chosen) => {
                decided.outcome == "chosen" && decided.choice.as_deref().or(decided.note.as_deref()) == words
            }
            Some(DecisionOutcome::Amended) => {
                let sent = self.write_amended(organism, (&decided.listener, &decided.element));
                let sent = sent.ok().map(|payload| Digest::hash_bytes(payload.as_bytes()).to_string());
                decided.outcome == "amended" && sent.is_some() && decided.sent == sent
            }
        }
    }

    fn into_ruling(
        self,
        organism: &Composition,
        (outcome, waiting): (DecisionOutcome, &WaitingRequest),
    ) -> Result<ApiRuling, Box<Refusal>> {
        let (has_choices, element) = match &waiting.about {
            RequestSubject::Question { choices, .. } => (!choices.is_empty(), ""),
            RequestSubject::Approval { element, .. } => (false, element.as_str()),
        };
        let payload = match outcome {
            DecisionOutcome::Amended => Some(self.write_amended(organism, (&waiting.listener, element))?),
            _ => None,
        };
        let is_choice = outcome == DecisionOutcome::Chosen && has_choices;
        let words = Some(self.words).filter(|words| !words.is_empty());
        let (choice, note) = if is_choice { (words, None) } else { (None, words) };
        Ok(ApiRuling { outcome, note, hash: Some(waiting.hash.to_string()), payload, choice })
    }

    /// What is sent instead of a payload of that element to that listener.
    fn write_amended(
        &self,
        organism: &Composition,
        (listener, element): (&Name, &str),
    ) -> Result<String, Box<Refusal>> {
        let taken = organism.listeners.get(listener);
        let taken = taken.and_then(|one| one.accepts.iter().find(|taken| &*taken.name.local == element));
        let (Some(taken), Some(json)) = (taken, &self.amended) else {
            let words = format!("{} has no payload that could be changed", self.request);
            return Err(Box::new(describe_unfit_request(words)));
        };
        let refuse_file = |_| Err(Box::new(Refusal::new(Code::Invalid, "files are not taken here")));
        let built = json_payload::build_from_json(organism, taken, json.as_bytes(), &refuse_file);
        let built = built.map_err(|refused| Box::new(refused.refusal))?;
        Ok(String::from_utf8_lossy(&built).into_owned())
    }
}

/// What waits for persons, as far as the client sees it, with all that is shown with it.
pub fn read_waiting(moment: &LogMoment) -> Result<Vec<WaitingRequest>, LogFault> {
    let mut waiting = list_requests(moment, false)?;
    add_changes(moment, &mut waiting, false)?;
    Ok(waiting)
}

/// A request to a person.
enum AskedRequest {
    Waiting(Box<WaitingRequest>),
    /// What was decided, if the log says it.
    Decided(Option<Box<KnownDecision>>),
}

/// The run of one of these messages that has asked for that decision, the request, and where it was asked for.
fn find_run(
    moment: &LogMoment,
    messages: &[(ThreadId, u64)],
    request: PersonRequestId,
) -> Result<Option<(AskedRequest, PlacedRecord, Position)>, LogFault> {
    let reader = &*moment.reader;
    for (thread, seq) in messages {
        let Some(asked) = reader.of_thread(thread, *seq, 1)?.pop() else { continue };
        if let Some(at) = find_asked(reader, &asked, request)? {
            let waiting = read_waiting(moment)?.into_iter().find(|one| one.id == request);
            let found = match waiting {
                Some(waiting) => AskedRequest::Waiting(Box::new(waiting)),
                None => AskedRequest::Decided(read_decision(&*moment.of_all(), request)?.map(Box::new)),
            };
            return Ok(Some((found, asked, at)));
        }
    }
    Ok(None)
}

/// Reads the log as the client sees it.
pub async fn read_log<T: Send + 'static>(
    state: &HttpState,
    client: &Name,
    read: impl FnOnce(&LogMoment) -> Result<T, LogFault> + Send + 'static,
) -> Result<T, Box<Refusal>> {
    let read = state.views.run_reading(&state.front, client, MomentAsked::default(), read).await;
    read.map_err(Box::new)
}
