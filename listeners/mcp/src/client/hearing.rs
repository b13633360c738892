//! What a server says unasked: progress of calls, and that its tools have changed. Its own requests are refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientResult, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability, Implementation,
    InitializeRequestParams, ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerNotification,
    ServerRequest, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, Service};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// The longest message of progress that is passed on, in characters.
const PROGRESS_CHARS: usize = 1_000;
/// The shortest time between two signs of progress of one call.
const PROGRESS_PAUSE: Duration = Duration::from_millis(250);

/// The handler of everything that a server says unasked.
#[derive(Clone, Default)]
pub(super) struct Hearing {
    calls: Arc<Mutex<HashMap<ProgressToken, ProgressRoute>>>,
    pub(super) changed: Arc<Notify>,
    /// Whether the server may ask a person in the middle of a call.
    pub(super) may_ask: bool,
}

/// Where the progress of a call goes.
struct ProgressRoute {
    to: mpsc::Sender<String>,
    last: Option<Instant>,
}

/// While this value lives, progress of the call is passed on.
pub(super) struct Heeded {
    hearing: Hearing,
    token: ProgressToken,
}

impl Drop for Heeded {
    fn drop(&mut self) {
        self.hearing.routes().remove(&self.token);
    }
}

impl Hearing {
    pub(super) fn new(may_ask: bool) -> Hearing {
        Hearing { may_ask, ..Hearing::default() }
    }

    /// Passes progress of this call on. A sign that finds no room is left out.
    pub(super) fn heed(&self, token: ProgressToken, to: mpsc::Sender<String>) -> Heeded {
        self.routes().insert(token.clone(), ProgressRoute { to, last: None });
        Heeded { hearing: self.clone(), token }
    }

    fn routes(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, ProgressRoute>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hearing {
    fn progressed(&self, heard: &ProgressNotificationParam) {
        let mut routes = self.routes();
        let Some(route) = routes.get_mut(&heard.progress_token) else { return };
        if route.last.is_some_and(|last| last.elapsed() < PROGRESS_PAUSE) {
            return;
        }
        route.last = Some(Instant::now());
        // A sign of life that finds the line full says nothing new.
        let _full = route.to.try_send(words(heard));
    }
}

impl Service<RoleClient> for Hearing {
    /// A server may ask whether we are there, and nothing else: neither a model nor a person answers it here.
    async fn handle_request(
        &self,
        request: ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client offers nothing", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        match notification {
            ServerNotification::ProgressNotification(heard) => self.progressed(&heard.params),
            ServerNotification::ToolListChangedNotification(_) => self.changed.notify_one(),
            _ => {}
        }
        Ok(())
    }

    fn get_info(&self) -> InitializeRequestParams {
        let mut info = InitializeRequestParams::default();
        info.protocol_version = ProtocolVersion::V_2025_11_25;
        info.client_info = Implementation::new("systole", env!("CARGO_PKG_VERSION"));
        if self.may_ask {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::default());
            elicitation.url = Some(UrlElicitationCapability::default());
            info.capabilities.elicitation = Some(elicitation);
        }
        info
    }
}

fn words(heard: &ProgressNotificationParam) -> String {
    let share = match heard.total {
        Some(total) => format!("{} of {total}", heard.progress),
        None => heard.progress.to_string(),
    };
    match &heard.message {
        Some(message) => format!("{share}: {}", message.chars().take(PROGRESS_CHARS).collect::<String>()),
        None => share,
    }
}
