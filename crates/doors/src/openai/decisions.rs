//! Decisions in a chat: what waits for the person is shown with its hash, and `/approve a1`, `/reject a1 WHY` or
//! `/choose a1 WORD` as the last message decides. It counts only for what the chat has shown.

use systole_queries::persons::{self, RequestSubject, WaitingRequest};
use systole_queries::thread_requests::list_held;

use super::chat_request::ChatText;
use super::chat_threads::AskedChat;
use super::fault::OpenaiFault;
use crate::api_types::{ApiReceipt, ApiRuling, DecisionOutcome};
use crate::limits;
use crate::request_refusals::describe_stopping;
use crate::steering::read_order;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::person::{self, PersonRequestId};
use systole_core::types::ports::{Clock as _, LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::refusal::Refusal;
use systole_organism::front::OrganismHandle;
use systole_organism::waiting::SenderReply;
use systole_system::clock::WallClock;

/// A decision as it was typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypedDecision {
    outcome: DecisionOutcome,
    request: PersonRequestId,
    /// The words behind it.
    words: String,
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
            "/approve" => DecisionOutcome::Approved,
            "/reject" => DecisionOutcome::Rejected,
            "/choose" => DecisionOutcome::Chosen,
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

    /// The hash that the chat has shown of the request.
    fn find_shown(&self, history: &[ChatText]) -> Option<String> {
        let mark = format!("{}.", self.request);
        history.iter().rev().filter(|one| one.role == "assistant").find_map(|one| {
            let (_, behind) = one.text.rsplit_once(&mark)?;
            behind.get(..limits::SHOWN_HASH).map(str::to_owned)
        })
    }

    /// Decides what waits in the run of one of these messages of the chat. Where it was decided before, an approval, and
    /// what is sent again, join the run.
    pub(super) async fn decide(
        self,
        front: &OrganismHandle,
        client: &Name,
        (chats, history): (Vec<AskedChat>, &[ChatText]),
        may_repeat: bool,
    ) -> Result<DecidedRun, OpenaiFault> {
        let request = self.request;
        let refuse = |code: Code, words: String| {
            let refusal = Refusal::new(code, words);
            Err(OpenaiFault::from_refusal(&refusal.fixed_by("the newest id that this chat shows")))
        };
        let Some(shown) = self.find_shown(history) else {
            return refuse(Code::UnknownApproval, format!("this chat has not shown {request}"));
        };
        let told = front.end();
        let found = read_log(front, move |reader| find_run(reader, &chats, request)).await?;
        let Some((waiting, asked)) = found else {
            return refuse(Code::UnknownApproval, format!("{request} does not wait in this chat"));
        };
        let Some(waiting) = waiting else {
            if self.outcome != DecisionOutcome::Approved && !may_repeat {
                return refuse(Code::DecidedApproval, format!("{request} was decided before"));
            }
            let receipt = ApiReceipt { repeated: true, ..read_receipt(&asked) };
            return Ok(DecidedRun { receipt, told: Position::default() });
        };
        let hash = waiting.hash.to_string();
        if shown.len() != limits::SHOWN_HASH || !hash.starts_with(&shown) {
            return refuse(Code::MismatchedApproval, format!("{request} is not what this chat has shown"));
        }
        let order = read_order(client.clone(), request, self.into_ruling(&waiting, hash))
            .map_err(|words| OpenaiFault::refuse_request("messages", words))?;
        match front.rule_request(order).await {
            Some(SenderReply::Done | SenderReply::Receipt(..)) => {
                Ok(DecidedRun { receipt: read_receipt(&asked), told })
            }
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

/// The run of one of these messages in which the request waits, or else that of the newest one.
fn find_run(
    reader: &dyn LogReader,
    chats: &[AskedChat],
    request: PersonRequestId,
) -> Result<Option<(Option<WaitingRequest>, PlacedRecord)>, LogFault> {
    let waiting = persons::waiting(reader)?.into_iter().find(|one| one.id == request);
    let outside = waiting.as_ref().and_then(|one| one.request.as_ref());
    let outside = outside.map(|outside| (outside.thread.clone(), outside.seq));
    let is_own = |chat: &&AskedChat| outside.is_none() || chat.place == outside;
    let Some((thread, seq)) = chats.iter().find(is_own).and_then(|chat| chat.place.clone()) else {
        return Ok(None);
    };
    let asked = reader.of_thread(&thread, seq, 1)?.pop();
    Ok(asked.map(|asked| (waiting.filter(|_| outside.is_some()), asked)))
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
    let hash = hash.get(..limits::SHOWN_HASH).unwrap_or_default();
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
        let of = |role: &str, text: &str| ChatText { role: role.to_owned(), text: text.to_owned() };
        let history = [
            of("assistant", "It is a12.0011223344556677\n"),
            of("assistant", "in what waits: a12.ffffffffffffffff; it is a12.8899aabbccddeeff\n"),
            of("user", "a12.1111111111111111"),
        ];
        assert_eq!(typed.find_shown(&history).as_deref(), Some("8899aabbccddeeff"));
        assert_eq!(typed.find_shown(&history[..1]).as_deref(), Some("0011223344556677"));
        assert_eq!(typed.find_shown(&[]), None);
    }
}
