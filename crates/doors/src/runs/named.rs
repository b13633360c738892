//! The threads of a client by the names that it gave them. They are read from the index, and never kept here.

use sha2::{Digest as _, Sha256};

use crate::limits;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::thread_choice::ThreadName;
use systole_log::index::{IndexFile, RootSelection};
use systole_organism::front::OrganismHandle;
use systole_organism::indexing::ask_index;

/// How the hash of an id begins that does not fit.
const HASHED: &str = "h.";

/// The threads of a client whose names begin so, the newest first.
pub(crate) fn list_named(
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
pub(crate) fn find_named(
    front: &OrganismHandle,
    client: &Name,
    name: &ThreadName,
) -> Result<Option<ThreadId>, LogFault> {
    let (begin, client) = (Some(name.as_str().to_owned()), Some(client.to_string()));
    let wanted = RootSelection { name: begin, client, ..RootSelection::default() };
    let mut found = None;
    ask_index(front.index(), &**front.reader(), &mut |index: &IndexFile| {
        index.visit_roots(&wanted, &mut |row| {
            let is_it = row.name == name.as_str();
            if is_it {
                found = ThreadId::parse(&row.thread).ok();
            }
            !is_it
        })
    })?;
    Ok(found)
}

/// An id of a client as it fits into a name or a key of so many bytes: itself, or the begin of its hash.
pub(crate) fn fit_foreign(id: &str, most: usize) -> String {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'/' && byte != b'@';
    if (1..=most).contains(&id.len()) && id.bytes().all(fits) && !id.starts_with(HASHED) {
        return id.to_owned();
    }
    let hash = Sha256::digest(id.as_bytes());
    let digits = hash.iter().take(limits::FOREIGN_BYTES).map(|byte| format!("{byte:02x}"));
    format!("{HASHED}{}", digits.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g11_a_foreign_id_is_itself_or_its_hash_and_no_two_are_one() {
        assert_eq!(fit_foreign("a-1.B", 5), "a-1.B");
        let hashed = ["", "a/b", "a@b", "a b", "ä", "toolong", "h.0"].map(|id| fit_foreign(id, 5));
        for (at, one) in hashed.iter().enumerate() {
            assert!(one.starts_with("h.") && one.len() == 42, "{one}");
            assert!(!hashed.iter().skip(at + 1).any(|other| other == one), "{one}");
        }
    }
}
