//! The door, and a client at it.

use std::sync::Arc;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::fault::RunFault;
use systole_core::types::ids::Name;
use systole_doorway::SharedPlace;
use systole_following::run_ids::read_receipt;
use systole_hall::http_state::HttpState;
use systole_hall::runs::said_threads::{SaidThread, read_run_name};
use systole_hall::runs::sending::stop_run;
use systole_hall::runs::work::take_run_place;

/// The parts of a path.
pub(super) type PathParts<T> = Result<Path<T>, PathRejection>;

/// The door and a client at it.
pub(super) struct RunCaller {
    pub(super) state: Arc<HttpState>,
    pub(super) client: Name,
}

impl RunCaller {
    /// A place among those who follow.
    pub(super) fn take_place(&self) -> Result<SharedPlace, RunFault> {
        take_run_place(&self.state, &self.client).map_err(RunFault::Crowded)
    }

    /// Stops what is open in a thread. Returns the names of its runs.
    pub(super) async fn stop_all(&self, found: &SaidThread) -> Result<Vec<String>, RunFault> {
        let mut stopped = Vec::new();
        for turn in found.list_open(&self.client) {
            stop_run(&self.state, &self.client, &read_receipt(&turn.asked)).await?;
            stopped.push(read_run_name(turn).to_owned());
        }
        Ok(stopped)
    }
}
