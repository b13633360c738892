//! Decisions in a chat: what waits for the person is shown in a message of its own, and `/approve a1`, `/reject a1 WHY`
//! or `/choose a1 WORD` as the last message decides. It counts only if the chat has shown just what waits.

use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::chat_request::ChatText;
use super::chat_threads::AskedChat;
use super::fault::OpenaiFault;
use systole_api::types::DecisionOutcome;
use systole_core::types::ids::Name;
use systole_core::types::person::PersonRequestId;
use systole_hall::http_state::HttpState;
use systole_hall::runs::decisions::{DecidedRun, DecisionPlace, RequestDecision};
use systole_hall::runs::requests::{describe_request, name_request};

/// Reads a message. `None` if it is no decision.
pub(super) fn parse_decision(text: &str) -> Option<Result<RequestDecision, OpenaiFault>> {
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
    let read = PersonRequestId::parse(id);
    let read = read.map(|request| RequestDecision { outcome, request, words, amended: None });
    Some(read.ok_or_else(|| {
        let words = format!("{order} needs the id of what waits, as in {order} a1");
        OpenaiFault::refuse_request("messages", words)
    }))
}

/// Decides in a chat with that history, by the messages that the request may belong to.
pub(super) async fn decide_in_chat(
    typed: RequestDecision,
    state: &HttpState,
    client: &Name,
    (chats, history): (Vec<AskedChat>, &[ChatText]),
) -> Result<DecidedRun, OpenaiFault> {
    let is_shown = |waiting: &WaitingRequest| {
        let frame = write_frame(waiting);
        history.iter().any(|one| one.role == "assistant" && one.text.trim() == frame.trim())
    };
    let fix = format!("/show {}, and then decide", typed.request);
    let messages = chats.into_iter().filter_map(|chat| chat.place).collect();
    let place = DecisionPlace {
        messages,
        is_shown: &is_shown,
        // A chat that asks again need not have shown it.
        has_seen: &|_| true,
        fix,
        only_checks: false,
    };
    Ok(typed.decide(state, client, place).await?)
}

/// That a request waits, where words of others came before it in the same message.
pub(super) fn announce_frame(waiting: &WaitingRequest) -> String {
    format!("{0} waits for your decision: type `/show {0}`", waiting.id)
}

/// A request with its hash, and how it is decided: a message of its own, always the same for the same request. What it
/// shows cannot end its frame.
pub(super) fn write_frame(waiting: &WaitingRequest) -> String {
    let id = waiting.id;
    let shown = describe_request(waiting, waiting.asked);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let how = match &waiting.about {
        RequestSubject::Approval { .. } => format!("`/approve {id}`, or `/reject {id} WHY`"),
        RequestSubject::Question { choices, .. } if choices.is_empty() => format!("`/choose {id} WORDS`"),
        RequestSubject::Question { choices, .. } => format!("`/choose {id} {}`", choices.join("|")),
    };
    format!("{fence}\n{shown}\n{fence}\n\nThis waits for you: type {how}. It is {}", name_request(waiting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_decision_is_read_with_its_words() {
        let parse = |text: &str| parse_decision(text);
        assert!(parse("approve a1").is_none() && parse("what does /approve do?").is_none());
        assert!(parse("/approve").unwrap().is_err() && parse("/reject b1 no").unwrap().is_err());
        let typed = parse(" /reject a12  too much ").unwrap().unwrap();
        let wanted = (Some(DecisionOutcome::Rejected), PersonRequestId(12), "too much");
        assert_eq!((typed.outcome, typed.request, typed.words.as_str()), wanted);
        assert_eq!(parse("/show a1").unwrap().unwrap().outcome, None);
    }
}
