//! What a server says unasked: progress of calls, questions to a person in older revisions, and that its tools have
//! changed. Its other requests are refused.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientResult, ElicitRequest, ElicitResult, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, InitializeRequestParams, InputRequest,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId, ServerNotification, ServerRequest,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient, Service};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::limits;

/// The handler of everything that a server says unasked.
#[derive(Clone, Default)]
pub(super) struct ServerHearing {
    calls: Arc<Mutex<HashMap<ProgressToken, OpenRoute>>>,
    pub(super) changed: Arc<Notify>,
    /// Whether the server asks a person by a result, and not by a request.
    pub(super) is_modern: bool,
}

/// Where things about an open call go.
struct OpenRoute {
    /// The id of its request.
    id: RequestId,
    /// Who hears of its progress, if one waits for it.
    heard: Option<mpsc::Sender<String>>,
    /// When the last sign of progress came.
    last: Option<Instant>,
    questions: mpsc::Sender<PersonQuestion>,
    /// Whether a person is being asked.
    is_asking: bool,
}

/// A question of a server to a person. Without an answer the server gets an error.
#[derive(Debug)]
pub struct PersonQuestion {
    /// The question.
    pub asked: InputRequest,
    /// Takes the answer.
    pub answer: oneshot::Sender<ElicitResult>,
}

/// The way to an open call. While this value lives, progress and questions of the call find it.
pub(super) struct CallRoute {
    hearing: ServerHearing,
    token: ProgressToken,
    questions: mpsc::Receiver<PersonQuestion>,
}

impl fmt::Debug for CallRoute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CallRoute({:?})", self.token)
    }
}

impl Drop for CallRoute {
    fn drop(&mut self) {
        self.hearing.lock_routes().remove(&self.token);
    }
}

impl CallRoute {
    /// Passes progress on from now on. A sign that finds no room is left out.
    pub(super) fn report_to(&mut self, heard: mpsc::Sender<String>) {
        self.change_route(|route| (route.heard, route.is_asking) = (Some(heard), false));
    }

    /// Passes no more progress on, while a person is asked.
    pub(super) fn mute_progress(&mut self) {
        self.change_route(|route| (route.heard, route.is_asking) = (None, true));
    }

    /// The next question of the call's server.
    pub(super) async fn next_question(&mut self) -> PersonQuestion {
        match self.questions.recv().await {
            Some(question) => question,
            // The route is gone only with this value.
            None => std::future::pending().await,
        }
    }

    fn change_route(&self, change: impl FnOnce(&mut OpenRoute)) {
        if let Some(route) = self.hearing.lock_routes().get_mut(&self.token) {
            change(route);
        }
    }
}

impl ServerHearing {
    pub(super) fn new(is_modern: bool) -> ServerHearing {
        ServerHearing { is_modern, ..ServerHearing::default() }
    }

    /// The way to a call that was sent.
    pub(super) fn add_route(&self, token: ProgressToken, id: RequestId) -> CallRoute {
        // A call that waits for a person cannot ask again.
        let (to, questions) = mpsc::channel(1);
        let route = OpenRoute { id, heard: None, last: None, questions: to, is_asking: false };
        self.lock_routes().insert(token.clone(), route);
        CallRoute { hearing: self.clone(), token, questions }
    }

    fn lock_routes(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, OpenRoute>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_progress(&self, heard: &ProgressNotificationParam) {
        let mut routes = self.lock_routes();
        let Some(route) = routes.get_mut(&heard.progress_token) else { return };
        let Some(to) = &route.heard else { return };
        if route.last.is_some_and(|last| last.elapsed() < limits::PROGRESS_PAUSE) {
            return;
        }
        route.last = Some(Instant::now());
        // A sign of life that finds the line full says nothing new.
        let _full = to.try_send(describe_progress(heard));
    }

    /// Brings a question to the call that it belongs to. Over HTTP its stream says which; over stdio it is the only open
    /// call that does not wait for a person already.
    async fn ask_person(
        &self,
        asked: ElicitRequest,
        of: Option<&InboundStreamOrigin>,
    ) -> Result<ClientResult, ErrorData> {
        let fits = |route: &&OpenRoute| match of {
            Some(InboundStreamOrigin::OutboundRequest(id)) => route.id == *id,
            _ => !route.is_asking,
        };
        let to = {
            let routes = self.lock_routes();
            let mut found = routes.values().filter(fits);
            match (found.next(), found.next()) {
                (Some(only), None) => only.questions.clone(),
                (None, _) => {
                    return Err(refuse_question("no call is open that the question could belong to"));
                }
                _ => {
                    return Err(refuse_question(
                        "several calls are open, and the question could belong to each",
                    ));
                }
            }
        };
        let (answer, answered) = oneshot::channel();
        let question = PersonQuestion { asked: InputRequest::Elicitation(asked), answer };
        to.send(question).await.map_err(|_| refuse_question("the call has ended"))?;
        answered.await.map(ClientResult::ElicitResult).map_err(|_| refuse_question("no person is asked"))
    }
}

fn refuse_question(why: &str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, why.to_owned(), None)
}

impl Service<RoleClient> for ServerHearing {
    /// A server may ask whether we are there, and in an older revision it may ask a person. No model answers here.
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::ElicitRequest(asked) if !self.is_modern => {
                self.ask_person(asked, context.extensions.get::<InboundStreamOrigin>()).await
            }
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client offers nothing", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        match notification {
            ServerNotification::ProgressNotification(heard) => self.pass_progress(&heard.params),
            ServerNotification::ToolListChangedNotification(_) => self.changed.notify_one(),
            _ => {}
        }
        Ok(())
    }

    fn get_info(&self) -> InitializeRequestParams {
        let mut info = InitializeRequestParams::default();
        info.protocol_version = ProtocolVersion::V_2025_11_25;
        info.client_info = Implementation::new("systole", env!("CARGO_PKG_VERSION"));
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::default());
        elicitation.url = Some(UrlElicitationCapability::default());
        info.capabilities.elicitation = Some(elicitation);
        info
    }
}

fn describe_progress(heard: &ProgressNotificationParam) -> String {
    let share = match heard.total {
        Some(total) => format!("{} of {total}", heard.progress),
        None => heard.progress.to_string(),
    };
    match &heard.message {
        Some(message) => {
            format!("{share}: {}", message.chars().take(limits::PROGRESS_CHARACTERS).collect::<String>())
        }
        None => share,
    }
}
