//! Conversations: names of threads. `conv_X` is the thread `@conv.X` of the client, which the first message to it opens.

use axum::Json;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::api_time::count_seconds;
use super::super::chat::read_body;
use super::super::fault::{OpenaiFault, refuse_later};
use super::fields::{PathId, QueryPairs, SentFields};
use super::items::{TextKind, write_asked, write_list};
use crate::limits;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Key, Name};
use systole_core::types::ports::{Clock as _, PlacedRecord};
use systole_core::types::thread_choice::ThreadName;
use systole_following::named_threads::find_named;
use systole_hall::http_state::{ApiCall, HttpState};
use systole_hall::runs::work::read_blocking;
use systole_organism::runfile::draw_hex;
use systole_payloads::answers::{read_question, write_answer};
use systole_queries::transcript::Transcript;
use systole_system::clock::WallClock;

/// How the names of their threads begin, and their ids.
const NAMED: &str = "conv.";
const ID: &str = "conv_";

/// The name of a conversation's thread.
pub(super) fn read_id(id: &str) -> Result<ThreadName, OpenaiFault> {
    let is_plain =
        |rest: &&str| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let name = id.strip_prefix(ID).filter(is_plain).filter(|rest| !rest.is_empty());
    let name = name.and_then(|rest| ThreadName::parse(&format!("{NAMED}{rest}")).ok());
    name.ok_or_else(|| {
        let words = "the id of a conversation is conv_ and up to 57 letters, digits, - and _";
        OpenaiFault::refuse_request("conversation", words)
    })
}

/// The conversation of a message, by its recorded key.
pub(super) fn find_id(recorded: Option<&Key>) -> Option<String> {
    let name = ThreadName::from_key(recorded?)?;
    name.as_str().strip_prefix(NAMED).map(|rest| format!("{ID}{rest}"))
}

/// A message of the client, as it is on record.
pub(super) fn write_question_item(organism: &Composition, (position, record): &PlacedRecord) -> Value {
    write_asked(&format!("msg_in_{}", position.0), &read_question(organism, record))
}

fn write_conversation(id: &str, created: u64) -> Value {
    json!({"id": id, "object": "conversation", "created_at": created, "metadata": {}})
}

/// Makes the name of a conversation. Nothing is on record until something is said in it.
pub(super) async fn create_conversation(headers: HeaderMap, body: Body) -> Result<Json<Value>, Response> {
    let create = async {
        let body = read_body(&headers, body).await?;
        let sent: SentConversation = if body.is_empty() {
            SentConversation::default()
        } else {
            let refuse = |error| format!("the body is not a conversation: {error}");
            serde_json::from_slice(&body)
                .map_err(|error| OpenaiFault::refuse_request("items", refuse(error)))?
        };
        if !sent.items.unwrap_or_default().is_empty() {
            let words = "a conversation begins empty: send its first items with the first response";
            return Err(OpenaiFault::refuse_request("items", words));
        }
        let drawn = draw_hex().map_err(|error| refuse_later(error.to_string()))?;
        let id = format!("{ID}{}", drawn.chars().take(24).collect::<String>());
        Ok(Json(write_conversation(&id, count_seconds(WallClock.now()))))
    };
    create.await.map_err(OpenaiFault::into_answer)
}

/// What a new conversation is to have.
#[derive(Default, Deserialize)]
struct SentConversation {
    #[serde(default)]
    items: Option<Vec<Value>>,
}

/// What was said in a conversation.
async fn read_conversation(
    state: &HttpState,
    client: &Name,
    name: ThreadName,
) -> Result<Option<Transcript>, OpenaiFault> {
    let (front, client) = (state.front.clone(), client.clone());
    let read = read_blocking(move || {
        let thread = find_named(&front, &client, &name)?;
        thread.map(|thread| Transcript::read(&**front.reader(), &thread, 1)).transpose()
    });
    Ok(read.await?)
}

fn read_path(id: PathId) -> Result<(String, ThreadName), OpenaiFault> {
    let Path(id) = id.map_err(|_| OpenaiFault::refuse_request("conversation", "the id is not UTF-8"))?;
    let name = read_id(&id)?;
    Ok((id, name))
}

/// Shows a conversation.
pub(super) async fn show_conversation(
    ApiCall { state, client }: ApiCall,
    id: PathId,
) -> Result<Json<Value>, Response> {
    let show = async {
        let (id, name) = read_path(id)?;
        let said = read_conversation(&state, &client, name).await?;
        let first = said.and_then(|said| said.turns.first().map(|turn| turn.asked.1.header.time));
        Ok(Json(write_conversation(&id, count_seconds(first.unwrap_or_else(|| WallClock.now())))))
    };
    show.await.map_err(OpenaiFault::into_answer)
}

/// Lists what was said in a conversation.
pub(super) async fn list_items(
    ApiCall { state, client }: ApiCall,
    id: PathId,
    query: QueryPairs,
) -> Result<Json<Value>, Response> {
    let list = async {
        let ((_, name), fields) = (read_path(id)?, SentFields::read(query)?);
        let limit = fields.number("limit")?.unwrap_or(limits::ITEMS as u64);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, limits::MOST_ITEMS);
        let said = read_conversation(&state, &client, name).await?.unwrap_or_default();
        let mut items = write_items(state.front.composition(), &said);
        if fields.text("order") != Some("asc") {
            items.reverse();
        }
        if let Some(after) = fields.text("after") {
            let Some(at) = items.iter().position(|item| item["id"] == after) else {
                let words = "after names no item of this conversation";
                return Err(OpenaiFault::new(StatusCode::NOT_FOUND, "item_not_found", words).about("after"));
            };
            items.drain(..=at);
        }
        let has_more = items.len() > limit;
        items.truncate(limit);
        Ok(Json(write_list(items, has_more)))
    };
    list.await.map_err(OpenaiFault::into_answer)
}

/// What was asked and answered, in order.
fn write_items(organism: &Composition, said: &Transcript) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in &said.turns {
        items.push(write_question_item(organism, &turn.asked));
        let answer = turn
            .end
            .as_ref()
            .and_then(|(how, record)| Some((write_answer(organism, *how, record)?, record.header.seq)));
        if let Some((text, seq)) = answer {
            let id = format!("msg_out_{}.{seq}", turn.asked.0.0);
            items.push(TextKind::Message.write_item(&id, "completed", Some(&text)));
        }
    }
    items
}
