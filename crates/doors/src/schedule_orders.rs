//! Orders about schedules: to pause one, to resume it, and to fire it now.
//!
//! A client and the name of a schedule come in; what changed, or a refusal, goes out. The pump checks the role.

use axum::Json;
use axum::extract::Path;
use axum::response::Response;

use systole_api::schedule_types::ScheduleChanged;
use systole_core::types::ids::Name;
use systole_core::types::schedule::ScheduleChange;
use systole_hall::door_row::DoorRoute;
use systole_hall::http_state::ApiCall;
use systole_hall::request_refusals::{refuse_message, refuse_request, refuse_stopping};
use systole_organism::waiting::SenderReply;

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::post("/v1/schedules/{schedule}/pause", pause_schedule),
        DoorRoute::post("/v1/schedules/{schedule}/resume", resume_schedule),
        DoorRoute::post("/v1/schedules/{schedule}/fire", fire_schedule),
    ]
}

async fn pause_schedule(call: ApiCall, Path(name): Path<String>) -> Result<Json<ScheduleChanged>, Response> {
    order_change(call, &name, ScheduleChange::Pause).await
}

async fn resume_schedule(call: ApiCall, Path(name): Path<String>) -> Result<Json<ScheduleChanged>, Response> {
    order_change(call, &name, ScheduleChange::Resume).await
}

async fn fire_schedule(call: ApiCall, Path(name): Path<String>) -> Result<Json<ScheduleChanged>, Response> {
    order_change(call, &name, ScheduleChange::Fire(None)).await
}

async fn order_change(
    ApiCall { state, client }: ApiCall,
    name: &str,
    change: ScheduleChange,
) -> Result<Json<ScheduleChanged>, Response> {
    let name = Name::parse(name).map_err(|malformed| refuse_request(malformed.to_string()))?;
    match state.front.order_schedule(client, name.clone(), change.clone()).await {
        Some(SenderReply::Refused(refusal)) => Err(refuse_message(&refusal)),
        Some(reply) => Ok(Json(ScheduleChanged::from_reply(&name, &change, &reply))),
        None => Err(refuse_stopping()),
    }
}
