//! An editor: what it is able to do, which its session at this door says, and where a request of it is answered.

use std::sync::Arc;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::memory::{EditorMemory, SessionPlace};
use systole_core::types::ids::Name;
use systole_doorway::SharedPlace;
use systole_doorway::rpc::RpcFault;
use systole_hall::http_state::{BodySeats, HttpState};
use systole_hall::runs::open_forms::OpenForms;
use systole_hall::runs::work::take_run_place;

/// The header with the session of `systole acp`. Behind its random digits stands what the editor is able to do.
pub(super) const SESSION: &str = "acp-session";
/// That the editor shows forms.
const FORMS: &str = "-forms";
/// That it shows notices.
const NOTICES: &str = "-notices";

/// What the door has of its own.
pub(super) struct AcpDoor {
    pub(super) seats: BodySeats,
    pub(super) forms: Arc<OpenForms>,
    pub(super) memory: Arc<EditorMemory>,
}

/// A request of an editor, and who sent it.
pub(super) struct AcpEditor {
    pub(super) state: Arc<HttpState>,
    pub(super) client: Name,
    pub(super) forms: Arc<OpenForms>,
    pub(super) memory: Arc<EditorMemory>,
    pub(super) session: String,
    /// The id of the request.
    pub(super) id: Value,
}

impl AcpEditor {
    pub(super) fn new(
        (state, client): (Arc<HttpState>, Name),
        door: &AcpDoor,
        headers: &HeaderMap,
        id: Value,
    ) -> AcpEditor {
        let (forms, memory) = (door.forms.clone(), door.memory.clone());
        AcpEditor { state, client, forms, memory, session: AcpEditor::read_session(headers), id }
    }

    /// The session of a request.
    pub(super) fn read_session(headers: &HeaderMap) -> String {
        let session = headers.get(SESSION).and_then(|session| session.to_str().ok());
        session.unwrap_or_default().to_owned()
    }

    /// The session of an editor that is able to do that.
    pub(super) fn name_session(&self, capabilities: Option<&Value>) -> String {
        let has = |path: &str| {
            capabilities.and_then(|all| all.pointer(path)).is_some_and(|one| !one.is_null() && *one != false)
        };
        let base = self.session.split('-').next().unwrap_or_default();
        let forms = if has("/elicitation/form") { FORMS } else { "" };
        let notices = if has("/session/notices") { NOTICES } else { "" };
        format!("{base}{forms}{notices}")
    }

    /// A session in it.
    pub(super) fn place_of(&self, session: &str) -> SessionPlace {
        let (client, editor) = (self.client.clone(), self.session.clone());
        SessionPlace { client, editor, session: session.to_owned() }
    }

    /// Whether it shows forms.
    pub(super) fn shows_forms(&self) -> bool {
        self.session.contains(FORMS)
    }

    /// A remark that belongs to no answer, as this editor shows it.
    pub(super) fn write_notice(&self, words: &str) -> Value {
        if self.session.contains(NOTICES) {
            return json!({"sessionUpdate": "notice", "severity": "warning", "title": words});
        }
        json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": format!("{words}\n")}})
    }

    /// A place among those who follow.
    pub(super) fn take_place(&self) -> Result<SharedPlace, RpcFault> {
        take_run_place(&self.state, &self.client).map_err(RpcFault::refuse_unavailable)
    }
}
