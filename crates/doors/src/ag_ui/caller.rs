//! The door, and a client at it.

use std::sync::Arc;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::fault::RunFault;
use crate::api_types::ApiReceipt;
use crate::http_state::HttpState;
use crate::request_refusals::describe_stopping;
use crate::shared_places::{PlaceShortage, SharedPlace};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_organism::waiting::SenderReply;

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
        self.state.followers.take_place(&self.client).map_err(|shortage| {
            RunFault::Crowded(match shortage {
                PlaceShortage::Own(most) => {
                    format!("{} follows {most} runs already, the most for one client", self.client)
                }
                PlaceShortage::All(most) => format!("{most} runs are followed already, the most for all"),
            })
        })
    }

    /// Stops a run. One that is over needs no end.
    pub(super) async fn stop(&self, receipt: &ApiReceipt) -> Result<(), RunFault> {
        let Some((thread, call)) = receipt.read_run() else { return Ok(()) };
        match self.state.front.stop_run(self.client.clone(), thread, call).await {
            Some(SenderReply::Refused(refusal))
                if !matches!(refusal.code, Code::ClosedCall | Code::EndedThread) =>
            {
                Err(refusal.into())
            }
            Some(_) => Ok(()),
            None => Err(Box::new(describe_stopping()).into()),
        }
    }
}
