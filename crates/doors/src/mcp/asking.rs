//! How a call asks the person of its client: in its result, to be called again with the answers, or on its stream, where
//! the answers come as messages of their own.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::elicitation::{self, ELICIT};
use systole_api::types::ApiReceipt;
use systole_core::types::ids::Name;
use systole_doorway::rpc::RpcFault;
use systole_following::run_ids::find_run_id;
use systole_hall::http_state::HttpState;
use systole_hall::runs::form_answers::take_answer;
use systole_hall::runs::form_ledger::FormLedger;
use systole_hall::runs::open_forms::{AnsweredForm, CallForms};
use systole_hall::runs::requests::name_request;
use systole_queries::persons::WaitingRequest;

/// Where forms are shown.
pub(super) enum FormWay {
    /// Nowhere: a person decides elsewhere.
    Nowhere,
    /// In the result of the call.
    InResult,
    /// On its stream.
    OnStream(CallForms),
}

/// What one call asks its person.
pub(super) struct CallAsking {
    state: Arc<HttpState>,
    client: Name,
    receipt: ApiReceipt,
    way: FormWay,
    ledger: FormLedger,
}

impl CallAsking {
    /// Asks the person of a client about a run.
    pub(super) fn new(state: Arc<HttpState>, client: Name, receipt: ApiReceipt, way: FormWay) -> CallAsking {
        CallAsking { state, client, receipt, way, ledger: FormLedger::default() }
    }

    /// Takes the answers of a call that is made again.
    pub(super) async fn take_answers(&mut self, answers: &Map<String, Value>) {
        for (name, answer) in answers {
            let place = (&*self.state, &self.client);
            let end = take_answer(place, &self.receipt, (name, answer)).await;
            self.ledger.note_end(name, end);
        }
    }

    /// Asks what waits for the person now. Returns the result of the call if that asks.
    pub(super) async fn ask_person(
        &mut self,
        to_client: &mpsc::Sender<Value>,
    ) -> Result<Option<Value>, RpcFault> {
        if matches!(self.way, FormWay::Nowhere) {
            return Ok(None);
        }
        let mut own = elicitation::list_own(&self.state, &self.client, &self.receipt).await?;
        own.retain(|waiting| !self.ledger.has_left(&name_request(waiting)));
        let FormWay::OnStream(forms) = &mut self.way else {
            return Ok((!own.is_empty()).then(|| self.write_result(&own)));
        };
        let names: Vec<String> = own.iter().map(name_request).collect();
        let mut messages = Vec::new();
        for id in forms.close_others(&names) {
            let params = json!({"requestId": id, "reason": "it waits no longer"});
            messages.push(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
        }
        for (name, waiting) in names.iter().zip(&own) {
            let Some(id) = forms.open_form(name) else { continue };
            // The first form that is shown next says why answers did not count.
            let params = elicitation::write_form(waiting, &self.ledger.take_remarks());
            messages.push(json!({"jsonrpc": "2.0", "id": id, "method": ELICIT, "params": params}));
        }
        for message in messages {
            // The wait ends when the client leaves.
            let _left = to_client.send(message).await;
        }
        Ok(None)
    }

    fn write_result(&mut self, own: &[WaitingRequest]) -> Value {
        json!({
            "resultType": "input_required",
            "inputRequests": elicitation::write_requests(own, &self.ledger.take_remarks()),
            "requestState": find_run_id(&self.receipt).map(|id| id.to_string()),
        })
    }

    /// The next answer on the stream. It may be dropped while it waits.
    pub(super) async fn next_answer(&mut self) -> AnsweredForm {
        match &mut self.way {
            FormWay::OnStream(forms) => forms.next().await,
            FormWay::Nowhere | FormWay::InResult => std::future::pending().await,
        }
    }

    /// Goes on after an answer on the stream. One that does not count is asked for again.
    pub(super) async fn go_on(
        &mut self,
        (name, end): AnsweredForm,
        to_client: &mpsc::Sender<Value>,
    ) -> Result<(), RpcFault> {
        self.ledger.note_end(&name, end);
        self.ask_person(to_client).await.map(|_| ())
    }

    /// Why answers did not count, for the result.
    pub(super) fn list_remarks(&self) -> impl Iterator<Item = &str> {
        self.ledger.list_remarks()
    }
}
