//! Unique ids for the calls in a request. A provider may give the same id to two calls, in one answer or in several,
//! and then refuse to receive it twice. Their order shows which call a result answers. The log keeps the ids as
//! received.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{MessagePart, ModelRequest};

/// The request with a new id for each call whose id occurred before, and for the result of that call.
pub(super) fn make_distinct(request: &ModelRequest) -> Cow<'_, ModelRequest> {
    let mut seen = BTreeSet::new();
    let mut calls =
        request.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            MessagePart::Call(call) => Some(call.id.as_str()),
            _ => None,
        });
    if calls.all(|id| seen.insert(id)) {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    let mut used = BTreeSet::new();
    let mut open: BTreeMap<String, VecDeque<String>> = BTreeMap::new();
    for part in request.messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            MessagePart::Call(call) => {
                let own = find_free_id(&call.id, &used);
                used.insert(own.clone());
                let said = std::mem::replace(&mut call.id, own.clone());
                open.entry(said).or_default().push_back(own);
            }
            MessagePart::Result { id, .. } => {
                if let Some(own) = open.get_mut(id).and_then(VecDeque::pop_front) {
                    *id = own;
                }
            }
            MessagePart::Text(_) | MessagePart::File(_) | MessagePart::Reasoning(_) => {}
        }
    }
    Cow::Owned(request)
}

/// The id itself, or the id with the first number that makes it unique.
fn find_free_id(id: &str, used: &BTreeSet<String>) -> String {
    let mut own = id.to_owned();
    let mut number = 2_u64;
    while used.contains(&own) {
        own = format!("{id}-{number}");
        number += 1;
    }
    own
}

#[cfg(test)]
mod tests {
    use super::super::{MessageAuthor, NativeCall, PromptMessage};
    use super::*;

    fn call(id: &str) -> MessagePart {
        MessagePart::Call(NativeCall {
            id: id.to_owned(),
            name: "search".to_owned(),
            arguments: "{}".to_owned(),
        })
    }

    fn result(id: &str, text: &str) -> MessagePart {
        MessagePart::Result {
            id: id.to_owned(),
            name: "search".to_owned(),
            text: text.to_owned(),
            is_error: false,
        }
    }

    fn request(parts: Vec<MessagePart>) -> ModelRequest {
        let messages = parts
            .into_iter()
            .map(|part| PromptMessage { role: MessageAuthor::User, parts: vec![part] })
            .collect();
        ModelRequest {
            enough: None,
            system: String::new(),
            messages,
            header: None,
            tools: Vec::new(),
            choice: None,
            schema: None,
            refused: Vec::new(),
            grammar: None,
            max_output: 1,
            params: serde_json::Map::new(),
            course: crate::model::CallHistory::default(),
        }
    }

    #[test]
    fn each_call_has_an_id_of_its_own_and_its_result_the_same() {
        let said = request(vec![
            call("a"),
            call("a"),
            call("a-2"),
            result("a", "1"),
            result("a", "2"),
            result("a-2", "3"),
            call("a"),
            result("a", "4"),
        ]);
        let shown = make_distinct(&said).into_owned();
        let wanted = request(vec![
            call("a"),
            call("a-2"),
            call("a-2-2"),
            result("a", "1"),
            result("a-2", "2"),
            result("a-2-2", "3"),
            call("a-3"),
            result("a-3", "4"),
        ]);
        assert_eq!(shown, wanted);
    }

    #[test]
    fn what_repeats_nothing_is_left_alone() {
        let said = request(vec![call("a"), result("a", "1"), call("b"), result("b", "2")]);
        assert!(matches!(make_distinct(&said), Cow::Borrowed(_)));
    }
}
