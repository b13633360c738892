//! The sessions of an editor: threads that its client opened, by the names that this door gave them, or by their ids.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_log::index::RootRow;
use systole_organism::runfile::draw_hex;
use systole_organism::work_folders::{WorkFolder, list_work_folders};

use super::editor::AcpEditor;
use super::faults::{AcpResult, refuse_with};
use super::params::AcpParams;
use crate::limits;
use systole_api::rpc_codes::RPC;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::time::Millis;
use systole_doorway::rpc::RpcFault;
use systole_following::run_ids::read_receipt;
use systole_hall::http_state::HttpState;
use systole_hall::runs::own_roots::read_own_roots;
use systole_hall::runs::said_threads::{SaidThread, find_said};
use systole_hall::runs::sending::stop_run;

/// How the names of such threads begin.
const NAMED: &str = "acp.";

/// The digits that go with those that were drawn.
fn find_check(organism: &Composition, client: &Name, drawn: &str) -> String {
    let text = format!("{}\0{client}\0{drawn}", organism.organism);
    Digest::hash_bytes(text.as_bytes()).to_string().chars().take(limits::CHECKED_DIGITS).collect()
}

/// The id of a new session. Its thread begins with the first prompt.
pub(super) fn draw_id((state, client): (&Arc<HttpState>, &Name)) -> Result<String, RpcFault> {
    let drawn = draw_hex().map_err(|error| RpcFault::refuse_unavailable(error.to_string()))?;
    let drawn: String = drawn.chars().take(limits::DRAWN_DIGITS).collect();
    Ok(format!("{drawn}{}", find_check(state.front.composition(), client, &drawn)))
}

/// Whether a session was given to this client here.
fn is_drawn(organism: &Composition, client: &Name, id: &str) -> bool {
    let parts = id.split_at_checked(limits::DRAWN_DIGITS);
    parts.is_some_and(|(drawn, check)| find_check(organism, client, drawn) == check)
}

/// Finds a session. One of another client is one that never was.
pub(super) async fn find_session(
    (state, client): (&Arc<HttpState>, &Name),
    params: &AcpParams,
) -> Result<SaidThread, RpcFault> {
    let id = read_id(params)?;
    let missing = || {
        let shown: String = id.chars().take(80).collect();
        let words =
            format!("no session of yours has the id {shown:?}; session/list has those that there are");
        RpcFault::with_code(RPC.no_resource, words, None)
    };
    let is_thread = ThreadId::parse(id).is_ok_and(|thread| thread.parent().is_none());
    if !is_thread && !is_drawn(state.front.composition(), client, id) {
        return Err(missing());
    }
    let found = find_said(state, client, (NAMED, id)).await.map_err(|refusal| refuse_with(&refusal))?;
    found.ok_or_else(missing)
}

/// The id of the session that a request is about.
pub(super) fn read_id(params: &AcpParams) -> Result<&str, RpcFault> {
    params.session_id.as_deref().ok_or_else(|| RpcFault::refuse_params("params.sessionId is missing"))
}

/// Stops what is open in a session.
pub(super) async fn stop_session(
    (state, client): (&Arc<HttpState>, &Name),
    found: &SaidThread,
) -> Result<(), RpcFault> {
    for turn in found.list_open(client) {
        let stopped = stop_run(state, client, &read_receipt(&turn.asked)).await;
        stopped.map_err(|refusal| refuse_with(&refusal))?;
    }
    Ok(())
}

/// Whether a folder is one that the organism works on, or lies in one.
fn is_within(folders: &[WorkFolder], cwd: &Path) -> bool {
    let is_below = |cwd: &Path| folders.iter().any(|folder| cwd.starts_with(&folder.root));
    folders.is_empty() || std::fs::canonicalize(cwd).is_ok_and(|cwd| is_below(&cwd))
}

fn check_absolute(cwd: &str) -> Result<(), RpcFault> {
    if Path::new(cwd).is_absolute() {
        return Ok(());
    }
    let shown: String = cwd.chars().take(limits::RESOURCE_URI).collect();
    Err(RpcFault::refuse_params(format!("params.cwd is {shown:?}, which is no absolute path")))
}

/// Refuses a session in a folder that the organism does not work on.
pub(super) fn check_folder(organism: &Composition, params: &AcpParams) -> Result<(), RpcFault> {
    let refuse = |words: String| Err(RpcFault::refuse_params(words));
    let Some(cwd) = &params.cwd else { return refuse("params.cwd is missing".to_owned()) };
    check_absolute(cwd)?;
    let folders = list_work_folders(organism);
    if is_within(&folders, Path::new(cwd)) {
        return Ok(());
    }
    let mut roots: Vec<String> = folders.iter().map(|folder| folder.root.display().to_string()).collect();
    roots.dedup();
    let shown: String = cwd.chars().take(limits::RESOURCE_URI).collect();
    refuse(format!("params.cwd is {shown:?}; this organism works in {}: open that", roots.join(", ")))
}

impl AcpEditor {
    /// Finds the session of a request.
    pub(super) async fn find_session(&self, params: &AcpParams) -> Result<SaidThread, RpcFault> {
        find_session((&self.state, &self.client), params).await
    }

    /// `session/list`: the client's own threads, the newest first.
    pub(super) async fn list_sessions(&self, params: &AcpParams, cursor: Option<&str>) -> AcpResult {
        let folders = list_work_folders(self.state.front.composition());
        // The log has no folder of a session: all are in the one that the organism works on.
        let folder = folders.first().map_or_else(|| "/".to_owned(), |one| one.root.display().to_string());
        let cwd = params.cwd.clone().unwrap_or(folder);
        check_absolute(&cwd)?;
        if !is_within(&folders, Path::new(&cwd)) {
            return Ok(self.answer_with(&json!({"sessions": []})));
        }
        let page = read_own_roots(&self.state, &self.client, cursor).await;
        let page = page.map_err(|refusal| refuse_with(&refusal))?;
        let organism = self.state.front.composition();
        let is_own = |id: &str| is_drawn(organism, &self.client, id);
        let sessions: Vec<Value> = page.rows.iter().map(|row| show_session(row, &cwd, is_own)).collect();
        Ok(self.answer_with(&page.add_cursor(json!({"sessions": sessions}))))
    }
}

fn show_session(row: &RootRow, cwd: &str, is_own: impl Fn(&str) -> bool) -> Value {
    let id = row.name.strip_prefix(NAMED).filter(|id| is_own(id)).unwrap_or(&row.thread);
    let about = if row.subject.is_empty() {
        format!("<{}> to {}", row.element, row.entry)
    } else {
        row.subject.clone()
    };
    json!({"sessionId": id, "cwd": cwd, "title": about, "updatedAt": Millis(row.since).to_string()})
}
