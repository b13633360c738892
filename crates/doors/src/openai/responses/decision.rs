//! Decisions by the ids of requests: `a1.HASH` names what was shown, so a decision counts only for just that.

use serde::Deserialize;
use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::super::fault::OpenaiFault;
use systole_api::types::DecisionOutcome;
use systole_hall::runs::decisions::RequestDecision;
use systole_hall::runs::requests::{describe_request, name_request, read_request_name};

/// What a rejection without a reason tells the caller.
const NO_REASON: &str = "rejected, without a reason";

/// A decision, with the hash of what was shown.
pub(super) struct NamedDecision {
    pub(super) typed: RequestDecision,
    pub(super) id: String,
}

/// An item of a request that approves or rejects.
#[derive(Deserialize)]
pub(super) struct SentApproval {
    approval_request_id: String,
    approve: bool,
    #[serde(default)]
    reason: Option<String>,
}

/// A request with all that the person has to know, and how it is decided.
pub(super) fn write_request(waiting: &WaitingRequest) -> String {
    let shown = describe_request(waiting, waiting.asked);
    let id = name_request(waiting);
    let how = match &waiting.about {
        RequestSubject::Approval { .. } => format!("Decide on {id}"),
        RequestSubject::Question { choices, .. } if choices.is_empty() => {
            format!("Answer with: /choose {id} WORDS")
        }
        RequestSubject::Question { choices, .. } => {
            format!("Answer with: /choose {id} {}", choices.join("|"))
        }
    };
    format!("{shown}\n\n{how}")
}

impl NamedDecision {
    /// Reads an approval.
    pub(super) fn read_approval(sent: SentApproval) -> Result<NamedDecision, OpenaiFault> {
        let SentApproval { approval_request_id: id, approve, reason } = sent;
        let Some(request) = read_request_name(&id) else {
            let words = "approval_request_id is the id of an mcp_approval_request, as it was shown";
            return Err(OpenaiFault::refuse_request("input", words));
        };
        let outcome = if approve { DecisionOutcome::Approved } else { DecisionOutcome::Rejected };
        let words = reason.filter(|words| !words.trim().is_empty());
        let words = words.unwrap_or_else(|| if approve { String::new() } else { NO_REASON.to_owned() });
        Ok(NamedDecision { typed: RequestDecision::new(outcome, request, words), id })
    }

    /// Reads the answer to a question. `None` if a text is none.
    pub(super) fn parse_choice(text: &str) -> Option<NamedDecision> {
        let rest = text.trim().strip_prefix("/choose ")?.trim();
        let (id, words) = rest.split_once(char::is_whitespace)?;
        let request = read_request_name(id)?;
        let typed = RequestDecision::new(DecisionOutcome::Chosen, request, words.trim().to_owned());
        Some(NamedDecision { typed, id: id.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::person::PersonRequestId;

    #[test]
    fn g10_only_a_choice_with_the_hash_of_its_question_is_one() {
        let read = NamedDecision::parse_choice(" /choose a3.00ff  yes please ").unwrap();
        assert_eq!(read.id, "a3.00ff");
        assert_eq!(
            read.typed,
            RequestDecision::new(DecisionOutcome::Chosen, PersonRequestId(3), "yes please".to_owned())
        );
        for text in [
            "/choose a3 yes",
            "/choose a3. yes",
            "choose a3.00ff yes",
            "/choose x.00ff yes",
            "/choose a3.00ff",
        ] {
            assert!(NamedDecision::parse_choice(text).is_none(), "{text}");
        }
    }
}
