//! Decisions in a chat: what waits for the person is shown with its hash, and `/approve a1`, `/reject a1 WHY` or
//! `/choose a1 WORD` as the last message decides. It counts only for what the chat has shown.

use axum::http::StatusCode;
use systole_queries::persons::{self, RequestSubject, WaitingRequest};
use systole_queries::thread_requests::list_held;

use super::fault::OpenaiFault;
use crate::api_types::{ApiReceipt, ApiRuling, DecisionOutcome};
use crate::request_refusals::describe_stopping;
use crate::steering::read_order;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::person::{self, PersonRequestId};
use systole_core::types::ports::{Clock as _, LogFault, LogReader, PlacedRecord};
use systole_core::types::refusal::Refusal;
use systole_organism::front::OrganismHandle;
use systole_organism::waiting::SenderReply;
use systole_system::clock::WallClock;

/// Hex digits of a hash that are shown.
const SHOWN_HASH: usize = 16;

/// A decision as it was typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypedDecision {
    outcome: DecisionOutcome,
    request: PersonRequestId,
    /// The hash, if it was typed too.
    hash: Option<String>,
    /// The words behind it.
    words: String,
}

impl TypedDecision {
    /// Reads a message. `None` if it is no decision.
    pub(super) fn parse(text: &str) -> Option<Result<TypedDecision, OpenaiFault>> {
        let text = text.trim();
        let (order, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let outcome = match order {
            "/approve" => DecisionOutcome::Approved,
            "/reject" => DecisionOutcome::Rejected,
            "/choose" => DecisionOutcome::Chosen,
            _ => return None,
        };
        let (id, words) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let (id, hash) = id.split_once('.').map_or((id, None), |(id, hash)| (id, Some(hash.to_owned())));
        let words = words.trim().to_owned();
        let read = PersonRequestId::parse(id).map(|request| TypedDecision { outcome, request, hash, words });
        Some(read.ok_or_else(|| {
            let words = format!("{order} needs the id of what waits, as in {order} a1");
            OpenaiFault::refuse_request("messages", words)
        }))
    }

    /// The hash that the chat has shown of the request.
    fn find_shown(&self, history: &[(String, String)]) -> Option<String> {
        let mark = format!("{}.", self.request);
        let shown = history.iter().rev().filter(|(role, _)| role == "assistant").find_map(|(_, text)| {
            let (_, behind) = text.rsplit_once(&mark)?;
            behind.get(..SHOWN_HASH).map(str::to_owned)
        });
        self.hash.clone().or(shown)
    }

    /// Decides. The run that waited goes on, and its receipt goes out.
    pub(super) async fn decide(
        self,
        front: &OrganismHandle,
        client: &Name,
        history: &[(String, String)],
    ) -> Result<ApiReceipt, OpenaiFault> {
        let (request, own) = (self.request, client.clone());
        let found = read_log(front, move |reader| find_own_request(reader, &own, request)).await?;
        let Some((waiting, asked)) = found else {
            let words = format!("{request} does not wait in a chat of yours");
            let refusal = Refusal::new(Code::UnknownApproval, words);
            return Err(OpenaiFault::from_refusal(
                &refusal.fixed_by("the id of what waits, as the chat shows it"),
            ));
        };
        let shown = self.find_shown(history);
        let hash = waiting.hash.to_string();
        if shown.as_ref().is_none_or(|shown| shown.len() != SHOWN_HASH || !hash.starts_with(shown.as_str())) {
            let short = hash.get(..SHOWN_HASH).unwrap_or_default();
            let words = format!(
                "{request} is not what this chat has shown; look at it where decisions are made, and then type {request}.{short}"
            );
            return Err(OpenaiFault::new(StatusCode::CONFLICT, Code::MismatchedApproval.as_str(), words));
        }
        let order = read_order(client.clone(), request, self.into_ruling(&waiting, hash))
            .map_err(|words| OpenaiFault::refuse_request("messages", words))?;
        match front.rule_request(order).await {
            Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(read_receipt(&asked)),
            Some(SenderReply::Refused(refusal)) => Err(OpenaiFault::from_refusal(&refusal)),
            None => Err(OpenaiFault::from_refusal(&describe_stopping())),
        }
    }

    fn into_ruling(self, waiting: &WaitingRequest, hash: String) -> ApiRuling {
        let has_choices =
            matches!(&waiting.about, RequestSubject::Question { choices, .. } if !choices.is_empty());
        let is_choice = self.outcome == DecisionOutcome::Chosen && has_choices;
        let words = Some(self.words).filter(|words| !words.is_empty());
        let (choice, note) = if is_choice { (words, None) } else { (None, words) };
        ApiRuling { outcome: self.outcome, note, hash: Some(hash), payload: None, choice }
    }
}

/// A request that waits in a thread of the client, and the message that led to it.
fn find_own_request(
    reader: &dyn LogReader,
    client: &Name,
    request: PersonRequestId,
) -> Result<Option<(WaitingRequest, PlacedRecord)>, LogFault> {
    let found = persons::waiting(reader)?.into_iter().find(|one| one.id == request);
    let Some((found, outside)) = found.and_then(|one| Some((one.clone(), one.request?))) else {
        return Ok(None);
    };
    let first = reader.of_thread(&outside.thread.root_of(), 1, 1)?.pop();
    let asked = reader.of_thread(&outside.thread, outside.seq, 1)?.pop();
    let is_own = first.is_some_and(|(_, record)| record.header.from == *client);
    Ok(asked.filter(|_| is_own).map(|asked| (found, asked)))
}

/// The receipt of a message, by its record.
fn read_receipt((position, record): &PlacedRecord) -> ApiReceipt {
    let h = &record.header;
    ApiReceipt {
        id: h.id.to_string(),
        thread: h.thread.to_string(),
        seq: h.seq,
        position: position.0,
        call: h.call.as_ref().map(ToString::to_string).unwrap_or_default(),
        sender: h.from.to_string(),
        claimed: None,
        key: h.key.as_ref().map(ToString::to_string).unwrap_or_default(),
        repeated: false,
    }
}

/// What waits for a person in a run.
pub(super) struct RunRequests {
    waiting: Vec<WaitingRequest>,
    /// Those that the client may decide.
    own: Vec<WaitingRequest>,
}

impl RunRequests {
    /// Reads them.
    pub(super) async fn read(
        front: &OrganismHandle,
        client: &Name,
        receipt: &ApiReceipt,
    ) -> Result<RunRequests, OpenaiFault> {
        let run = receipt.read_run();
        let waiting = read_log(front, move |reader| {
            let Some((thread, call)) = &run else { return Ok(Vec::new()) };
            let held = list_held(reader, thread, *call)?;
            Ok(persons::waiting(reader)?.into_iter().filter(|one| held.contains(&one.id)).collect())
        });
        let (waiting, organism): (Vec<WaitingRequest>, _) = (waiting.await?, front.composition());
        let may =
            |one: &WaitingRequest| person::may_decide(organism, client, (one.kind(), &one.listener), true);
        let own = waiting.iter().filter(|one| may(one)).cloned().collect();
        Ok(RunRequests { waiting, own })
    }

    /// Whether the client may decide one of them.
    pub(super) fn has_decision(&self) -> bool {
        !self.own.is_empty()
    }

    /// That they wait, for a client that may not decide.
    pub(super) fn describe_wait(&self, link: &str) -> String {
        let ids: Vec<String> = self.waiting.iter().map(|one| one.id.to_string()).collect();
        format!("\nwaits for {}: a person decides at {link}\n", ids.join(", "))
    }

    /// All that the person must see, and how to decide.
    pub(super) fn write_text(&self, link: &str) -> String {
        self.own.iter().map(|one| write_request(one, link)).collect()
    }
}

/// A request with its hash. What it shows cannot end its frame.
fn write_request(waiting: &WaitingRequest, link: &str) -> String {
    let id = waiting.id;
    let shown = waiting.lines(WallClock.now(), None, false).join("\n");
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let hash = waiting.hash.to_string();
    let hash = hash.get(..SHOWN_HASH).unwrap_or_default();
    let how = match &waiting.about {
        RequestSubject::Approval { .. } => format!("`/approve {id}`, or `/reject {id} WHY`"),
        RequestSubject::Question { choices, .. } if choices.is_empty() => format!("`/choose {id} WORDS`"),
        RequestSubject::Question { choices, .. } => format!("`/choose {id} {}`", choices.join("|")),
    };
    format!(
        "\n\n{fence}\n{shown}\n{fence}\n\nThis waits for you: type {how}; or decide at {link}. It is {id}.{hash}\n"
    )
}

async fn read_log<T: Send + 'static>(
    front: &OrganismHandle,
    read: impl FnOnce(&dyn LogReader) -> Result<T, LogFault> + Send + 'static,
) -> Result<T, OpenaiFault> {
    let reader = front.reader().clone();
    let read = tokio::task::spawn_blocking(move || read(&*reader)).await;
    let unread = |why: String| {
        let refusal = Refusal::new(Code::IngressUnavailable, format!("the log cannot be read: {why}"));
        OpenaiFault::from_refusal(&refusal)
    };
    read.map_err(|end| unread(end.to_string()))?.map_err(|fault| unread(fault.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_decision_is_read_with_its_words_and_the_newest_hash_that_was_shown() {
        let parse = |text: &str| TypedDecision::parse(text);
        assert!(parse("approve a1").is_none() && parse("what does /approve do?").is_none());
        assert!(parse("/approve").unwrap().is_err() && parse("/reject b1 no").unwrap().is_err());
        let typed = parse(" /reject a12  too much ").unwrap().unwrap();
        assert_eq!(
            (typed.outcome, typed.request, typed.words.as_str()),
            (DecisionOutcome::Rejected, PersonRequestId(12), "too much")
        );
        let of = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        let history = [
            of("assistant", "It is a12.0011223344556677\n"),
            of("assistant", "in what waits: a12.ffffffffffffffff; it is a12.8899aabbccddeeff\n"),
            of("user", "a12.1111111111111111"),
        ];
        assert_eq!(typed.find_shown(&history).as_deref(), Some("8899aabbccddeeff"));
        assert_eq!(typed.find_shown(&history[..1]).as_deref(), Some("0011223344556677"));
        assert_eq!(typed.find_shown(&[]), None);
        let with_hash = parse("/approve a1.0011223344556677").unwrap().unwrap();
        assert_eq!(with_hash.find_shown(&[]).as_deref(), Some("0011223344556677"));
    }
}
