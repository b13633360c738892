//! What an editor is asked while a prompt is followed: a permission for what waits for an approval, and a form for a
//! question. The id of each request names the run and what was shown, so an answer counts for that alone.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::run_events::CallPlace;

use super::editor::AcpEditor;
use super::tool_calls::ToolCalls;
use super::updates::write_update;
use systole_api::types::ApiReceipt;
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::Clock as _;
use systole_core::types::refusal::Refusal;
use systole_following::run_ids::find_run_id;
use systole_hall::runs::form_ledger::FormLedger;
use systole_hall::runs::forms::write_answer_form;
use systole_hall::runs::open_forms::{AnsweredForm, CallForms, CallName};
use systole_hall::runs::requests::{RunRequests, describe_request, find_approvals_page, name_request};
use systole_system::clock::WallClock;

/// The choices of a permission. What is allowed for ever is never offered: the next call is another one.
const ALLOW: &str = "allow";
const REJECT: &str = "reject";

/// An answer to a permission or a form, as a filled form.
pub(super) fn read_answer(answer: Value) -> Value {
    let Some(outcome) = answer.get("outcome") else { return answer };
    let text_at = |name: &str| outcome.get(name).and_then(Value::as_str);
    match (text_at("outcome"), text_at("optionId")) {
        (Some("selected"), Some(ALLOW)) => json!({"action": "accept", "content": {"approved": true}}),
        (Some("selected"), Some(REJECT)) => json!({"action": "decline"}),
        (Some("cancelled"), _) => json!({"action": "cancel"}),
        // It is none of the options.
        _ => json!({}),
    }
}

/// What the editor is asked about one run.
pub(super) struct RunAsking<'e> {
    editor: &'e AcpEditor,
    session: &'e str,
    receipt: &'e ApiReceipt,
    forms: CallForms,
    ledger: FormLedger,
    /// What waits for others, as far as that was said.
    told: BTreeSet<String>,
}

impl<'e> RunAsking<'e> {
    pub(super) fn new(editor: &'e AcpEditor, session: &'e str, receipt: &'e ApiReceipt) -> RunAsking<'e> {
        let call = CallName {
            client: editor.client.clone(),
            session: editor.session.clone(),
            id: editor.id.to_string(),
        };
        let forms = CallForms::new(editor.forms.clone(), call, find_run_id(receipt));
        let (ledger, told) = (FormLedger::default(), BTreeSet::new());
        RunAsking { editor, session, receipt, forms, ledger, told }
    }

    /// The next answer. It may be dropped while it waits.
    pub(super) async fn next_answer(&mut self) -> AnsweredForm {
        self.forms.next().await
    }

    /// Notes what an answer did.
    pub(super) fn note_end(&mut self, (name, end): AnsweredForm) {
        self.ledger.note_end(&name, end);
    }

    async fn read_requests(&self) -> Result<RunRequests, Box<Refusal>> {
        RunRequests::read(&self.editor.state, &self.editor.client, self.receipt).await
    }

    /// The requests to the editor that are due now, and a notice of each that waits for others.
    pub(super) async fn ask_person(&mut self, calls: &ToolCalls) -> Result<Vec<Value>, Box<Refusal>> {
        let RunRequests { ids, own } = self.read_requests().await?;
        let shows_forms = self.editor.shows_forms();
        let mut messages = Vec::new();
        for id in ids.iter().filter(|id| own.iter().all(|one| one.id != **id)) {
            if self.told.insert(id.to_string()) {
                let page = find_approvals_page(&self.editor.state.addresses);
                let notice = self.editor.write_notice(&format!("{id} waits for a person: {page}"));
                messages.push(write_update(self.session, &notice));
            }
        }
        let shown = own.iter().filter(|one| {
            let is_form = matches!(one.about, RequestSubject::Question { .. });
            (!is_form || shows_forms) && !self.ledger.has_left(&name_request(one))
        });
        let shown: Vec<(String, &WaitingRequest)> = shown.map(|one| (name_request(one), one)).collect();
        let names: Vec<String> = shown.iter().map(|(name, _)| name.clone()).collect();
        for id in self.forms.close_others(&names) {
            let params = json!({"requestId": id});
            messages.push(json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
        }
        for (name, waiting) in shown {
            let Some(id) = self.forms.open_form(&name) else { continue };
            let (method, params) = self.write_request(calls, waiting);
            messages.push(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        }
        Ok(messages)
    }

    fn write_request(&mut self, calls: &ToolCalls, waiting: &WaitingRequest) -> (&'static str, Value) {
        // The next request says why answers did not count.
        let remarks = self.ledger.take_remarks();
        let words = describe_waiting(waiting, &remarks);
        let meta =
            json!({"systole/request": waiting.id.to_string(), "systole/hash": waiting.hash.to_string()});
        match &waiting.about {
            RequestSubject::Question { choices, .. } => {
                let schema = write_answer_form(choices);
                let params = json!({
                    "mode": "form",
                    "sessionId": self.session,
                    "message": words,
                    "requestedSchema": schema,
                    "_meta": meta,
                });
                ("elicitation/create", params)
            }
            RequestSubject::Approval { payload, .. } => {
                let at = CallPlace { thread: waiting.thread.clone(), call: waiting.call.clone() };
                let mut call = calls.describe(&at, &waiting.listener, payload.as_bytes());
                call.content.push(json!({"type": "content", "content": {"type": "text", "text": words}}));
                let params = json!({
                    "sessionId": self.session,
                    "toolCall": call.into_json("pending"),
                    "options": [
                        {"optionId": ALLOW, "name": "Allow", "kind": "allow_once"},
                        {"optionId": REJECT, "name": "Reject", "kind": "reject_once"},
                    ],
                    "_meta": meta,
                });
                ("session/request_permission", params)
            }
        }
    }

    /// The last words of a prompt if nothing that waits is asked in the editor any more: a question as text, or where what was
    /// left is decided.
    pub(super) async fn end_asking(&self) -> Result<Option<String>, Box<Refusal>> {
        let RunRequests { ids, own } = self.read_requests().await?;
        if let Some(words) = self.editor.show_question(self.session, &own) {
            return Ok(Some(words));
        }
        let left = |id: &PersonRequestId| {
            let one = own.iter().find(|one| one.id == *id);
            one.is_some_and(|one| self.ledger.has_left(&name_request(one)))
        };
        if ids.is_empty() || !ids.iter().all(left) {
            return Ok(None);
        }
        let (ids, page) =
            (ids.iter().map(ToString::to_string), find_approvals_page(&self.editor.state.addresses));
        let ids: Vec<String> = ids.collect();
        Ok(Some(format!(
            "\n\n{} waits: {page}, or your next message, which goes on with it.",
            ids.join(", ")
        )))
    }
}

impl AcpEditor {
    /// The question among these that is shown as text, in an editor without forms. Its next prompt is the answer.
    pub(super) fn show_question(&self, session: &str, own: &[WaitingRequest]) -> Option<String> {
        let is_question = |one: &&WaitingRequest| matches!(one.about, RequestSubject::Question { .. });
        let asked = own.iter().find(is_question).filter(|_| !self.shows_forms())?;
        self.memory.note_question(&self.place_of(session), name_request(asked));
        Some(format!("\n\n{}\n\nYour next message is the answer.", describe_waiting(asked, &[])))
    }
}

fn describe_waiting(waiting: &WaitingRequest, remarks: &[String]) -> String {
    let shown = describe_request(waiting, WallClock.now());
    let lines: Vec<&str> = remarks.iter().map(String::as_str).chain([shown.as_str()]).collect();
    lines.join("\n\n")
}
