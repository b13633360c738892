//! The door for monitoring: `/healthz` answers while the server does, `/readyz` while the log takes records, and
//! `/metrics` has the numbers of the index in the text form of Prometheus.
//!
//! The first two are empty and open to everyone. The numbers are for the role `read`, unless the organism's file opens
//! them with `console.metrics`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use systole_core::types::client::{ClientDoor, Role};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_hall::door_row::{DoorRoute, DoorRow, DoorVisit, VisitAnswer, enter_with_token};
use systole_hall::http_state::{Caller, HttpState};
use systole_hall::log_view::MomentAsked;
use systole_hall::request_refusals::refuse_message;
use systole_log::alarms::AlarmKind;
use systole_queries::metrics::{MetricSource, count_behind, read_metrics, write_page};

const METRICS: &str = "/metrics";
/// The form of the numbers.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The door.
pub(super) static DOOR: DoorRow =
    DoorRow { paths: &[METRICS, "/healthz", "/readyz"], routes: &[list_routes], enter, is_described: false };

fn list_routes() -> Vec<DoorRoute> {
    vec![
        DoorRoute::get("/healthz", async || StatusCode::OK),
        DoorRoute::get("/readyz", show_ready),
        DoorRoute::get(METRICS, show_metrics),
    ]
}

fn enter(visit: DoorVisit) -> VisitAnswer {
    Box::pin(async move {
        if visit.request.uri().path() == METRICS && !visit.state.keyring.are_metrics_open() {
            return enter_with_token(visit, ClientDoor::V1).await;
        }
        visit.next.run(visit.request).await
    })
}

/// Whether a message would be stored now.
async fn show_ready(State(state): State<Arc<HttpState>>) -> StatusCode {
    let alarms = state.front.alarms();
    let mut lasting = alarms.iter().filter(|alarm| alarm.until.is_none());
    let is_stuck = lasting.any(|alarm| matches!(alarm.kind, AlarmKind::Stalled | AlarmKind::Write));
    if is_stuck || !state.front.is_running() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
}

async fn show_metrics(
    State(state): State<Arc<HttpState>>,
    caller: Option<Extension<Caller>>,
) -> Result<Response, Response> {
    let client = caller.map_or_else(Name::new_operator, |Extension(Caller(client))| client);
    if !state.front.composition().has_role(&client, Role::Read) {
        let words = format!("{client} has no role `read`, and these are the numbers of all clients");
        let fix = "give it the role `read`, or open the numbers with `console: {metrics: open}`";
        return Err(refuse_message(&Refusal::new(Code::IngressForbidden, words).fixed_by(fix)));
    }
    let read = state.views.run_reading(&state.front, &client, MomentAsked::default(), |moment| {
        let whole = moment.read_state()?;
        moment.ask_index(|index| {
            let (reader, now) = (&*moment.reader, moment.now);
            read_metrics(&MetricSource { reader, whole: &whole, now, index })
        })
    });
    let mut metrics = read.await.map_err(|refusal| refuse_message(&refusal))?;
    metrics.push(count_behind(state.front.followers().into_iter().map(|one| (one.name, one.behind))));
    Ok(([(header::CONTENT_TYPE, TEXT)], write_page(&metrics)).into_response())
}
