//! Responses and conversations: a response is a run, and a conversation is a named thread. Unlike chats these are found by
//! their ids, so a stream that broke goes on where it was, and work in the background is asked for later.

mod conversations;
mod creating;
mod decision;
mod fields;
mod following;
mod items;
mod numbers;
mod request;
mod response_id;
mod sending;
mod writer;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::chat_threads::ChatDoor;
use super::fault::{OpenaiFault, refuse_later};
use fields::{PathId, QueryPairs, SentFields};
use following::OpenResponse;
use items::write_list;
use response_id::ResponseId;
use systole_hall::door_row::DoorRoute;
use systole_hall::http_state::ApiCall;
use systole_hall::runs::sending::stop_run;

/// The routes. Requests are read and sent as those of chats are.
pub(super) fn list_routes(door: &Arc<ChatDoor>) -> Vec<DoorRoute> {
    let mut create = DoorRoute::post("/openai/v1/responses", create_response);
    create.service = create.service.layer(Extension(door.clone()));
    vec![
        create,
        DoorRoute::get("/openai/v1/responses/{id}", show_response),
        DoorRoute::post("/openai/v1/responses/{id}/cancel", cancel_response),
        DoorRoute::get("/openai/v1/responses/{id}/input_items", list_input),
        DoorRoute::post("/openai/v1/conversations", conversations::create_conversation),
        DoorRoute::get("/openai/v1/conversations/{id}", conversations::show_conversation),
        DoorRoute::get("/openai/v1/conversations/{id}/items", conversations::list_items),
    ]
}

async fn create_response(
    ApiCall { state, client }: ApiCall,
    Extension(door): Extension<Arc<ChatDoor>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    creating::create(state, client, door, headers, body).await
}

fn read_path(id: PathId) -> Result<ResponseId, OpenaiFault> {
    let Path(id) = id.map_err(|_| ResponseId::refuse_unknown())?;
    ResponseId::parse(&id).ok_or_else(ResponseId::refuse_unknown)
}

async fn show_response(ApiCall { state, client }: ApiCall, id: PathId, query: QueryPairs) -> Response {
    let show = async {
        let (id, fields) = (read_path(id)?, SentFields::read(query)?);
        let after = fields.number("starting_after")?;
        let streams = fields.text("stream") == Some("true");
        if after.is_some() && !streams {
            let words = "starting_after goes on with a stream: add stream=true";
            return Err(OpenaiFault::refuse_request("starting_after", words));
        }
        let open = OpenResponse::find(&state, &client, id, after).await?;
        if streams {
            let place = state.messages.take_place(&client).map_err(refuse_later)?;
            return Ok(open.stream(place));
        }
        Ok(Json(open.read_now().await?.write_response()).into_response())
    };
    show.await.unwrap_or_else(OpenaiFault::into_answer)
}

async fn cancel_response(ApiCall { state, client }: ApiCall, id: PathId) -> Response {
    let cancel = async {
        let id = read_path(id)?;
        let open = OpenResponse::find(&state, &client, id.clone(), None).await?;
        stop_run(&state, &client, open.receipt()).await?;
        let open = OpenResponse::find(&state, &client, id, None).await?;
        Ok(Json(open.read_now().await?.write_response()).into_response())
    };
    cancel.await.unwrap_or_else(OpenaiFault::into_answer)
}

async fn list_input(ApiCall { state, client }: ApiCall, id: PathId) -> Result<Json<Value>, Response> {
    let list = async {
        let open = OpenResponse::find(&state, &client, read_path(id)?, None).await?;
        Ok(Json(write_list(
            vec![conversations::write_question_item(state.front.composition(), &open.asked)],
            false,
        )))
    };
    list.await.map_err(OpenaiFault::into_answer)
}
