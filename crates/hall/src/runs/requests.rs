//! What waits for persons in a run, as a client sees it.

use std::sync::Arc;

use systole_queries::persons::WaitingRequest;
use systole_queries::thread_requests::list_held;

use super::decisions::{read_log, read_waiting};
use crate::http_state::HttpState;
use crate::limits;
use systole_api::types::ApiReceipt;
use systole_core::types::ids::Name;
use systole_core::types::person::{self, PersonRequestId};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_doorway::entrance::DoorAddresses;
use systole_show::layout::whole_lines;

/// What waits for persons in a run.
pub struct RunRequests {
    /// All of them.
    pub ids: Vec<PersonRequestId>,
    /// Those that the client may decide.
    pub own: Vec<WaitingRequest>,
}

impl RunRequests {
    /// Reads them.
    pub async fn read(
        state: &HttpState,
        client: &Name,
        receipt: &ApiReceipt,
    ) -> Result<RunRequests, Box<Refusal>> {
        let waiting = RunRequests::read_all(state, client).await?;
        RunRequests::read_among(state, client, receipt, &waiting).await
    }

    /// Reads all that waits for persons, for several runs.
    pub async fn read_all(state: &HttpState, client: &Name) -> Result<Arc<[WaitingRequest]>, Box<Refusal>> {
        Ok(read_log(state, client, read_waiting).await?.into())
    }

    /// Reads those of a run, when all that waits was read.
    pub async fn read_among(
        state: &HttpState,
        client: &Name,
        receipt: &ApiReceipt,
        waiting: &Arc<[WaitingRequest]>,
    ) -> Result<RunRequests, Box<Refusal>> {
        let (run, waiting) = (receipt.read_run(), waiting.clone());
        let read = read_log(state, client, move |moment| {
            let Some((thread, call)) = &run else { return Ok((Vec::new(), Vec::new())) };
            let ids = list_held(&*moment.reader, thread, *call)?;
            let own = waiting.iter().filter(|one| ids.contains(&one.id)).cloned().collect();
            Ok((ids, own))
        });
        let (ids, waiting): (_, Vec<WaitingRequest>) = read.await?;
        let organism = state.front.composition();
        let may =
            |one: &WaitingRequest| person::may_decide(organism, client, (one.kind(), &one.listener), true);
        Ok(RunRequests { ids, own: waiting.into_iter().filter(may).collect() })
    }
}

/// Where a person decides what a client may not.
pub fn find_approvals_page(DoorAddresses { bound, public }: &DoorAddresses) -> String {
    let door = public.as_ref().map_or_else(|| format!("http://{bound}"), |public| public.as_str().to_owned());
    format!("{door}/approvals")
}

/// A request as a client reads it. It is the same text whatever terminal and time zone the organism has.
pub fn describe_request(waiting: &WaitingRequest, now: Millis) -> String {
    whole_lines(|| waiting.lines(now, None, false).join("\n"))
}

/// The id of a request with the hash of what it shows, as `a1.00ff`: a decision under it counts for just that.
pub fn name_request(waiting: &WaitingRequest) -> String {
    let hash: String = waiting.hash.to_string().chars().take(limits::SHOWN_HASH).collect();
    format!("{}.{hash}", waiting.id)
}

/// The request of such an id.
pub fn read_request_name(id: &str) -> Option<PersonRequestId> {
    let (request, hash) = id.split_once('.')?;
    PersonRequestId::parse(request).filter(|_| !hash.is_empty())
}

/// Whether such an id names that hash.
pub fn has_seen(id: &str, hash: &str) -> bool {
    id.split_once('.').is_some_and(|(_, seen)| seen.len() == limits::SHOWN_HASH && hash.starts_with(seen))
}
