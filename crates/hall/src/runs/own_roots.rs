//! The threads that a client opened, a page at a time, the newest first.

use serde_json::{Value, json};
use systole_log::index::{IndexFile, RootRow, RootSelection};

use super::decisions::read_log;
use crate::http_state::HttpState;
use crate::limits;
use crate::request_refusals::describe_unfit_request;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;

/// A page of them.
pub struct RootPage {
    /// The threads.
    pub rows: Vec<RootRow>,
    /// The cursor of the next page, if there is one.
    next: Option<String>,
}

impl RootPage {
    /// What a list says, with the cursor of the next page.
    pub fn add_cursor(&self, mut listed: Value) -> Value {
        if let Some((fields, next)) = listed.as_object_mut().zip(self.next.as_ref()) {
            fields.insert("nextCursor".to_owned(), json!(next));
        }
        listed
    }
}

/// Reads the page behind a cursor, or the first one.
pub async fn read_own_roots(
    state: &HttpState,
    client: &Name,
    cursor: Option<&str>,
) -> Result<RootPage, Box<Refusal>> {
    let after = cursor.map(|cursor| {
        let position: Option<u64> = cursor.parse().ok();
        let place = position.and_then(|position| Some((i64::try_from(position).ok()?, position)));
        let words = "there is no such page: a cursor is the last nextCursor";
        place.ok_or_else(|| Box::new(describe_unfit_request(words)))
    });
    let after = after.transpose()?;
    let wanted = RootSelection { client: Some(client.to_string()), after, ..RootSelection::default() };
    let read = read_log(state, client, move |moment| {
        moment.ask_index(|index: &IndexFile| {
            let mut rows = Vec::new();
            index.visit_roots(&wanted, &mut |row| {
                rows.push(row);
                rows.len() <= limits::RESOURCES
            })?;
            Ok(rows)
        })
    });
    let mut rows: Vec<RootRow> = read.await?;
    let has_more = rows.len() > limits::RESOURCES;
    rows.truncate(limits::RESOURCES);
    let next = rows.last().filter(|_| has_more).map(|last| last.position.to_string());
    Ok(RootPage { rows, next })
}
