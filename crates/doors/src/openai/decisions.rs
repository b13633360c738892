//! Decisions in a chat: what waits for the person is shown in a message of its own, and `/approve a1`, `/reject a1 WHY`
//! or `/choose a1 WORD` as the last message decides. It counts only if the chat has shown just what waits.

use systole_queries::decisions::{self, DecisionArguments};
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::run_events::{CallPlace, RunEvent, RunFold, RunHistory};
use systole_queries::thread_requests::list_held;

use super::chat_request::ChatText;
use super::chat_threads::AskedChat;
use super::fault::OpenaiFault;
use crate::api_types::{ApiReceipt, ApiRuling, DecisionOutcome};
use crate::entrance::DoorAddresses;
use crate::http_state::HttpState;
use crate::limits;
use crate::log_view::{LogMoment, MomentAsked};
use crate::request_refusals::describe_stopping;
use crate::run_id::read_receipt;
use crate::steering::read_order;
use crate::waiting::{add_changes, list_requests};
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::person::{self, PersonRequestId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::refusal::Refusal;
use systole_organism::waiting::SenderReply;

/// A decision as it was typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypedDecision {
    /// `None` shows what waits.
    outcome: Option<DecisionOutcome>,
    request: PersonRequestId,
    /// The words behind it.
    words: String,
}

/// Where a decision counts.
pub(super) struct DecisionPlace<'d> {
    /// The messages in whose runs it may wait, by their threads and records.
    pub(super) messages: Vec<(ThreadId, u64)>,
    /// Whether the client has seen a request as it waits.
    pub(super) is_shown: &'d (dyn Fn(&WaitingRequest) -> bool + Send + Sync),
    /// What to do if it does not count.
    pub(super) fix: String,
    /// The part of the client's request that it is in.
    pub(super) param: &'static str,
    /// Whether the client names that hash of what was decided.
    pub(super) has_seen: &'d (dyn Fn(&str) -> bool + Send + Sync),
    /// Whether it is only looked whether it counts.
    pub(super) only_checks: bool,
}

/// The run that a decision lets go on.
pub(super) struct DecidedRun {
    pub(super) receipt: ApiReceipt,
    /// What it did up to there was told before.
    pub(super) told: Position,
}

impl TypedDecision {
    /// Reads a message. `None` if it is no decision.
    pub(super) fn parse(text: &str) -> Option<Result<TypedDecision, OpenaiFault>> {
        let text = text.trim();
        let (order, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let outcome = match order {
            "/show" => None,
            "/approve" => Some(DecisionOutcome::Approved),
            "/reject" => Some(DecisionOutcome::Rejected),
            "/choose" => Some(DecisionOutcome::Chosen),
            _ => return None,
        };
        let (id, words) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let words = words.trim().to_owned();
        let read = PersonRequestId::parse(id).map(|request| TypedDecision { outcome, request, words });
        Some(read.ok_or_else(|| {
            let words = format!("{order} needs the id of what waits, as in {order} a1");
            OpenaiFault::refuse_request("messages", words)
        }))
    }

    /// A decision that was not typed.
    pub(super) fn new(outcome: DecisionOutcome, request: PersonRequestId, words: String) -> TypedDecision {
        TypedDecision { outcome: Some(outcome), request, words }
    }

    /// Decides what waits in one of these runs, or shows it. If it was decided before, what shows it and the same
    /// decision again get the rest of the run.
    pub(super) async fn decide(
        self,
        state: &HttpState,
        client: &Name,
        place: DecisionPlace<'_>,
    ) -> Result<DecidedRun, OpenaiFault> {
        let (request, told) = (self.request, state.front.end());
        let refuse = |code: Code, words: String| {
            Err(OpenaiFault::from_refusal(&Refusal::new(code, words).fixed_by(place.fix.clone())))
        };
        let messages = place.messages;
        let found = read_log(state, client, move |moment| find_run(moment, &messages, request)).await?;
        let Some((waiting, asked)) = found else {
            return refuse(Code::UnknownApproval, format!("{request} does not wait here"));
        };
        let receipt = read_receipt(&asked);
        let waiting = match waiting {
            AskedRequest::Waiting(waiting) => *waiting,
            AskedRequest::Decided(decided) => {
                if !self.is_same(&decided) || !(place.has_seen)(&decided.hash) {
                    return refuse(Code::DecidedApproval, format!("{request} was decided before"));
                }
                return Ok(DecidedRun { receipt, told: decided.at });
            }
        };
        let Some(outcome) = self.outcome else { return Ok(DecidedRun { receipt, told }) };
        if !(place.is_shown)(&waiting) {
            return refuse(Code::MismatchedApproval, format!("{request} was not shown here as it is"));
        }
        let order = read_order(client.clone(), request, self.into_ruling(outcome, &waiting))
            .map_err(|words| OpenaiFault::refuse_request(place.param, words))?;
        if place.only_checks {
            return Ok(DecidedRun { receipt, told });
        }
        match state.front.rule_request(order).await {
            Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(DecidedRun { receipt, told }),
            Some(SenderReply::Refused(refusal)) => Err(OpenaiFault::from_refusal(&refusal)),
            None => Err(OpenaiFault::from_refusal(&describe_stopping())),
        }
    }

    /// Whether that is what was decided.
    fn is_same(&self, decided: &KnownDecision) -> bool {
        let words = Some(self.words.as_str());
        match self.outcome {
            None => true,
            Some(DecisionOutcome::Approved) => decided.outcome == "approved",
            Some(DecisionOutcome::Rejected) => decided.outcome == "rejected",
            Some(DecisionOutcome::Chosen) => {
                decided.outcome == "chosen" && decided.choice.as_deref().or(decided.note.as_deref()) == words
            }
            Some(DecisionOutcome::Amended) => false,
        }
    }

    /// The same in a chat with that history, by the messages that the request may belong to.
    pub(super) async fn decide_in_chat(
        self,
        state: &HttpState,
        client: &Name,
        (chats, history): (Vec<AskedChat>, &[ChatText]),
    ) -> Result<DecidedRun, OpenaiFault> {
        let is_shown = |waiting: &WaitingRequest| {
            let frame = write_frame(waiting);
            history.iter().any(|one| one.role == "assistant" && one.text.trim() == frame.trim())
        };
        let fix = format!("/show {}, and then decide", self.request);
        let messages = chats.into_iter().filter_map(|chat| chat.place).collect();
        let place = DecisionPlace {
            messages,
            is_shown: &is_shown,
            // A chat that asks again need not have shown it.
            has_seen: &|_| true,
            fix,
            param: "messages",
            only_checks: false,
        };
        self.decide(state, client, place).await
    }

    fn into_ruling(self, outcome: DecisionOutcome, waiting: &WaitingRequest) -> ApiRuling {
        let has_choices =
            matches!(&waiting.about, RequestSubject::Question { choices, .. } if !choices.is_empty());
        let is_choice = outcome == DecisionOutcome::Chosen && has_choices;
        let words = Some(self.words).filter(|words| !words.is_empty());
        let (choice, note) = if is_choice { (words, None) } else { (None, words) };
        ApiRuling { outcome, note, hash: Some(waiting.hash.to_string()), payload: None, choice }
    }
}

/// What waits for persons, as far as the client sees it, with all that is shown with it.
fn read_waiting(moment: &LogMoment) -> Result<Vec<WaitingRequest>, LogFault> {
    let mut waiting = list_requests(moment, false)?;
    add_changes(moment, &mut waiting, false)?;
    Ok(waiting)
}

/// A request to a person.
enum AskedRequest {
    Waiting(Box<WaitingRequest>),
    Decided(KnownDecision),
}

/// What was decided.
#[derive(Default)]
struct KnownDecision {
    outcome: String,
    choice: Option<String>,
    note: Option<String>,
    /// The hash of what was shown.
    hash: String,
    /// The position of its record.
    at: Position,
}

/// What was decided on a request. Nothing if the log does not say.
fn read_decision(reader: &dyn LogReader, request: PersonRequestId) -> Result<KnownDecision, LogFault> {
    let wanted = DecisionArguments {
        before: Some(PersonRequestId(request.0.saturating_add(1))),
        ..DecisionArguments::default()
    };
    let found = decisions::list(reader, &wanted, 1)?.decisions.pop();
    let Some(found) = found.filter(|one| one.id == request.to_string()) else {
        return Ok(KnownDecision::default());
    };
    let record = ThreadId::parse(&found.thread).ok();
    let record = record.map(|thread| reader.of_thread(&thread, found.seq, 1)).transpose()?;
    let at = record.and_then(|mut page| page.pop()).map(|(position, _)| position);
    let at = at.unwrap_or_default();
    Ok(KnownDecision { outcome: found.outcome, choice: found.choice, note: found.note, hash: found.hash, at })
}

/// The run of one of these messages that has asked for that decision, and the request.
fn find_run(
    moment: &LogMoment,
    messages: &[(ThreadId, u64)],
    request: PersonRequestId,
) -> Result<Option<(AskedRequest, PlacedRecord)>, LogFault> {
    let reader = &*moment.reader;
    for (thread, seq) in messages {
        let Some(asked) = reader.of_thread(thread, *seq, 1)?.pop() else { continue };
        if has_asked(reader, &asked, request)? {
            let waiting = read_waiting(moment)?.into_iter().find(|one| one.id == request);
            let found = match waiting {
                Some(waiting) => AskedRequest::Waiting(Box::new(waiting)),
                None => AskedRequest::Decided(read_decision(&*moment.of_all(), request)?),
            };
            return Ok(Some((found, asked)));
        }
    }
    Ok(None)
}

/// Whether the run of a message has asked for that decision.
fn has_asked(
    reader: &dyn LogReader,
    (_, asked): &PlacedRecord,
    request: PersonRequestId,
) -> Result<bool, LogFault> {
    let (thread, seq) = (asked.header.thread.clone(), asked.header.seq);
    let Some(call) = asked.header.call.as_ref().map(CallPath::top_number) else { return Ok(false) };
    let end = reader.read_last()?;
    let Some(mut history) = RunHistory::open(reader, (&thread, seq), end)? else { return Ok(false) };
    let mut fold = RunFold::new(CallPlace { thread, call: CallPath::new_top(call) }, None);
    loop {
        let page = history.read_page(reader)?;
        if page.is_empty() {
            return Ok(false);
        }
        for (position, record) in page {
            let events = fold.take_record(position, &record.into());
            if events.iter().any(|one| matches!(one.event, RunEvent::Asked(id) if id == request)) {
                return Ok(true);
            }
        }
    }
}

/// What waits for persons in a run.
pub(super) struct RunRequests {
    ids: Vec<PersonRequestId>,
    /// Those that the client may decide.
    pub(super) own: Vec<WaitingRequest>,
}

impl RunRequests {
    /// Reads them.
    pub(super) async fn read(
        state: &HttpState,
        client: &Name,
        receipt: &ApiReceipt,
    ) -> Result<RunRequests, OpenaiFault> {
        let run = receipt.read_run();
        let read = read_log(state, client, move |moment| {
            let Some((thread, call)) = &run else { return Ok((Vec::new(), Vec::new())) };
            let ids = list_held(&*moment.reader, thread, *call)?;
            let waiting = read_waiting(moment)?.into_iter().filter(|one| ids.contains(&one.id)).collect();
            Ok((ids, waiting))
        });
        let (ids, waiting): (_, Vec<WaitingRequest>) = read.await?;
        let organism = state.front.composition();
        let may =
            |one: &WaitingRequest| person::may_decide(organism, client, (one.kind(), &one.listener), true);
        Ok(RunRequests { ids, own: waiting.into_iter().filter(may).collect() })
    }

    /// That they wait, for a client that may not decide.
    pub(super) fn describe_wait(&self, DoorAddresses { bound, public }: &DoorAddresses) -> String {
        let ids: Vec<String> = self.ids.iter().map(ToString::to_string).collect();
        let door =
            public.as_ref().map_or_else(|| format!("http://{bound}"), |public| public.as_str().to_owned());
        format!("\nwaits for {}: a person decides at {door}/approvals\n", ids.join(", "))
    }
}

/// That a request waits, where words of others came before it in the same message.
pub(super) fn announce_frame(waiting: &WaitingRequest) -> String {
    format!("{0} waits for your decision: type `/show {0}`", waiting.id)
}

/// A request with its hash, and how it is decided: a message of its own, always the same for the same request. What it
/// shows cannot end its frame.
pub(super) fn write_frame(waiting: &WaitingRequest) -> String {
    let id = waiting.id;
    let shown = waiting.lines(waiting.asked, None, false).join("\n");
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let hash: String = waiting.hash.to_string().chars().take(limits::SHOWN_HASH).collect();
    let how = match &waiting.about {
        RequestSubject::Approval { .. } => format!("`/approve {id}`, or `/reject {id} WHY`"),
        RequestSubject::Question { choices, .. } if choices.is_empty() => format!("`/choose {id} WORDS`"),
        RequestSubject::Question { choices, .. } => format!("`/choose {id} {}`", choices.join("|")),
    };
    format!("{fence}\n{shown}\n{fence}\n\nThis waits for you: type {how}. It is {id}.{hash}")
}

async fn read_log<T: Send + 'static>(
    state: &HttpState,
    client: &Name,
    read: impl FnOnce(&LogMoment) -> Result<T, LogFault> + Send + 'static,
) -> Result<T, OpenaiFault> {
    let read = state.views.run_reading(&state.front, client, MomentAsked::default(), read).await;
    read.map_err(|refusal| OpenaiFault::from_refusal(&refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_decision_is_read_with_its_words() {
        let parse = |text: &str| TypedDecision::parse(text);
        assert!(parse("approve a1").is_none() && parse("what does /approve do?").is_none());
        assert!(parse("/approve").unwrap().is_err() && parse("/reject b1 no").unwrap().is_err());
        let typed = parse(" /reject a12  too much ").unwrap().unwrap();
        let wanted = (Some(DecisionOutcome::Rejected), PersonRequestId(12), "too much");
        assert_eq!((typed.outcome, typed.request, typed.words.as_str()), wanted);
        assert_eq!(parse("/show a1").unwrap().unwrap().outcome, None);
    }
}
