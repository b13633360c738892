//! The HTTP door of a witness: `POST /add-checkpoint` and `GET /SHA256(origin)/checkpoint`, as C2SP's `tlog-witness` says.
//! Anyone may knock: a request is
//! bounded in bytes, a connection in time, and the signature of a known log is what counts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use systole_proof::limits::REQUEST_BYTES;
use systole_proof::witness::WitnessAnswer;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use systole_core::types::ids::Digest;
use systole_core::types::ports::Clock as _;
use systole_doorway::Doorway;
use systole_doorway::Visitor;
use systole_system::clock::WallClock;
use systole_system::tasks::{self, RunningTask, TaskKind};
use systole_witness::witness_book::WitnessBook;

/// What is said of any other route.
const ROUTES: &str = "the routes are POST /add-checkpoint and GET /SHA256(origin)/checkpoint, in hex\n";

/// Called with what was answered to whom: for the person who runs the witness.
pub type WitnessReporter = Arc<dyn Fn(&str) + Send + Sync>;

struct WitnessState {
    book: Mutex<WitnessBook>,
    report: WitnessReporter,
}

/// The open door of a witness.
pub struct WitnessDoor {
    close: oneshot::Sender<()>,
    task: RunningTask,
}

impl WitnessDoor {
    /// Opens the door on an address that is already bound.
    pub fn open(listener: TcpListener, book: WitnessBook, report: WitnessReporter) -> WitnessDoor {
        let state = Arc::new(WitnessState { book: Mutex::new(book), report });
        let router = Router::new()
            .route("/add-checkpoint", post(add_checkpoint))
            .route("/{origin}/checkpoint", get(show_last_checkpoint))
            .fallback(async || (StatusCode::NOT_FOUND, ROUTES))
            .with_state(state.clone());
        let service = router.into_make_service_with_connect_info::<Visitor>();
        let (close, closed) = oneshot::channel::<()>();
        let work = async move {
            let closing = async { drop(closed.await) };
            let served =
                axum::serve(Doorway::from_listener(listener), service).with_graceful_shutdown(closing).await;
            if let Err(error) = served {
                (state.report)(&format!("the door stopped by itself: {error}"));
            }
        };
        WitnessDoor { close, task: tasks::start_task(TaskKind::Door, work, async |_| ()) }
    }

    /// Admits no new connections, and waits for the open ones, which end soon.
    pub async fn close(self) {
        // If the door has already shut, no task receives this.
        let _shut_before = self.close.send(());
        self.task.wait_for_end().await;
    }
}

async fn add_checkpoint(
    State(state): State<Arc<WitnessState>>,
    visitor: axum::extract::ConnectInfo<Visitor>,
    body: Body,
) -> Response {
    let Ok(body) = to_bytes(body, REQUEST_BYTES).await else {
        let words = format!("the request did not come, or has more than {REQUEST_BYTES} bytes\n");
        return (StatusCode::BAD_REQUEST, words).into_response();
    };
    let from = visitor.address;
    // It syncs a file. Requests are answered one after another.
    let answered = tokio::task::spawn_blocking(move || answer_checkpoint(&state, from, &body)).await;
    answered.unwrap_or_else(|_| {
        (StatusCode::INTERNAL_SERVER_ERROR, "the witness failed; nothing was cosigned\n").into_response()
    })
}

/// The last checkpoint of a log that the witness cosigned, for readers who compare.
async fn show_last_checkpoint(
    State(state): State<Arc<WitnessState>>,
    Path(origin): Path<String>,
) -> Response {
    let found = tokio::task::spawn_blocking(move || {
        let book = state.book.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = Digest::parse(&origin).ok()?;
        book.find_last(origin).map(ToString::to_string)
    });
    match found.await.ok().flatten() {
        Some(note) => ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], note).into_response(),
        None => (StatusCode::NOT_FOUND, "this witness cosigned no checkpoint of that log\n").into_response(),
    }
}

fn answer_checkpoint(state: &WitnessState, from: SocketAddr, body: &[u8]) -> Response {
    let seconds = WallClock.now().0 / 1000;
    // Every change of the book is complete before anything can panic.
    let answer = state.book.lock().unwrap_or_else(PoisonError::into_inner).answer_request(body, seconds);
    match answer {
        Ok(answer) => {
            (state.report)(&describe_answer(from, &answer));
            let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, [(header::CONTENT_TYPE, answer.content_type())], answer.body()).into_response()
        }
        Err(fault) => {
            (state.report)(&format!("nothing was cosigned for {from}: {fault}"));
            (StatusCode::INTERNAL_SERVER_ERROR, "the witness cannot store what it cosigns\n").into_response()
        }
    }
}

/// The answer, for the person who runs the witness.
fn describe_answer(from: SocketAddr, answer: &WitnessAnswer) -> String {
    match answer {
        WitnessAnswer::Cosigned(checkpoint) => {
            let checkpoint = checkpoint.checkpoint();
            format!("cosigned {} at #{} for {from}", checkpoint.origin(), checkpoint.size())
        }
        other => format!("refused {from} with {}: {}", other.status(), other.body().trim_end()),
    }
}
