//! The threads of a client by the names that it gave them. They are read from the log and its index, and never kept here.

use crate::limits;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::thread_choice::ThreadName;
use systole_log::index::{IndexFile, RootSelection};
use systole_organism::front::OrganismHandle;
use systole_organism::indexing::ask_index;
use systole_queries::finding;

/// The threads of a client whose names begin so, the newest first.
pub fn list_named(
    front: &OrganismHandle,
    client: &Name,
    prefix: String,
) -> Result<Vec<(ThreadName, ThreadId)>, LogFault> {
    let wanted =
        RootSelection { name: Some(prefix), client: Some(client.to_string()), ..RootSelection::default() };
    let mut rows = Vec::new();
    ask_index(front.index(), &**front.reader(), &mut |index: &IndexFile| {
        rows.clear();
        index.visit_roots(&wanted, &mut |row| {
            rows.extend(ThreadName::parse(&row.name).ok().zip(ThreadId::parse(&row.thread).ok()));
            rows.len() < limits::CHATS
        })
    })?;
    Ok(rows)
}

/// The thread of a client with that name.
pub fn find_named(
    front: &OrganismHandle,
    client: &Name,
    name: &ThreadName,
) -> Result<Option<ThreadId>, LogFault> {
    finding::find_named(&**front.reader(), (&front.composition().organism, client), name)
}
