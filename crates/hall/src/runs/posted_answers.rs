//! The answer to a request that a client was sent on the stream of a call. It comes as a message of its own.

use serde_json::Value;
use systole_queries::run_events::RunId;

use super::form_answers::{FormEnd, take_answer};
use super::open_forms::{CallName, OpenForms, read_id};
use super::work::read_blocking;
use crate::http_state::HttpState;
use systole_core::types::ids::Name;
use systole_following::run_ids::read_receipt;

/// Takes the answer to the request with that id, and tells its call. It counts also if that is not followed any more. An
/// error is for the person who answered.
pub async fn take_posted(
    (state, forms): (&HttpState, &OpenForms),
    (client, session): (Name, String),
    (id, result): (&Value, Result<Value, String>),
) -> Result<FormEnd, String> {
    let named = read_id(id).and_then(|(run, name)| Some((RunId::parse(run)?, name)));
    let Some((run, name)) = named else { return Ok(FormEnd::Unknown) };
    let (reader, owner) = (state.front.reader().clone(), client.clone());
    let asked = read_blocking(move || run.find_message(&*reader, &owner)).await;
    let Some(asked) = asked.map_err(|refusal| refusal.message.to_string())? else {
        return Ok(FormEnd::Unknown);
    };
    let form = forms.take_form(&CallName { client: client.clone(), session, id: id.to_string() });
    let end = match result {
        Ok(answer) => take_answer((state, &client), &read_receipt(&asked), (name, &answer)).await,
        Err(words) => Ok(FormEnd::NotShown(words)),
    };
    match form {
        Some(form) => form.tell_call(end),
        None => end,
    }
}
