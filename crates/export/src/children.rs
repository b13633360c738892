//! What exported records say of each other: the origin of a child, and the heads that its parent states. A child whose
//! parent is not in the export cannot be compared; what was left out of a body cannot either.

use std::collections::{HashMap, HashSet};

use super::damage::ExportDamage;
use super::record_line::{ExportedRecord, HashedLine};
use systole_core::rules::core_payload::read_attributes;
use systole_core::types::ids::Digest;

/// What a parent says of a head, and where.
type StatedHead = (String, u64);

/// What is still to be compared.
#[derive(Default)]
pub(super) struct ChildComparison {
    /// For each record that spawned a child and by its id: its thread, its leaf and its position.
    spawns: HashMap<String, (String, Digest, u64)>,
    begun: HashMap<String, StatedHead>,
    ended: HashMap<String, StatedHead>,
    /// Threads that left out what they say of their children.
    blind: HashSet<String>,
    /// Children whose beginning could not be compared.
    pub(super) unread: u64,
}

/// The thread above a thread.
pub(super) fn find_parent(thread: &str) -> Option<&str> {
    thread.rsplit_once('.').map(|(parent, _)| parent)
}

impl ChildComparison {
    /// Takes the next record. `has` says whether the export has had that thread.
    pub(super) fn take_record(
        &mut self,
        record: &ExportedRecord,
        hashed: &HashedLine,
        has: impl Fn(&str) -> bool,
    ) -> Result<(), ExportDamage> {
        let at = |why: &str| ExportDamage { position: record.position, why: why.to_owned() };
        if let Some(parent) = find_parent(&record.thread).filter(|parent| record.seq == 1 && has(parent)) {
            let spawn = record.cause.as_ref().and_then(|cause| self.spawns.remove(cause));
            match spawn.filter(|(thread, ..)| thread == parent) {
                None => return Err(at(&format!("no record of {parent} spawned it"))),
                Some((_, leaf, _)) if record.origin != Some(leaf.to_string()) => {
                    return Err(at("its origin is not the leaf of the record that spawned it"));
                }
                Some(_) => {}
            }
            match self.begun.remove(&record.thread) {
                None if self.blind.contains(parent) => self.unread += 1,
                None => return Err(at("its parent does not confirm that it began")),
                Some((head, position)) if head != record.head => {
                    let why = format!("it names another first head of {}", record.thread);
                    return Err(ExportDamage { position, why });
                }
                Some(_) => {}
            }
        }
        if record.kind != "message" {
            return Ok(());
        }
        let (element, name, kept) = match record.code.as_deref() {
            Some("spawn") => {
                let spawn = (record.thread.clone(), hashed.leaf, record.position);
                self.spawns.insert(record.id.clone(), spawn);
                return Ok(());
            }
            Some("answer") => ("thread-spawned", "assigned_id", &mut self.begun),
            Some("inbox") => ("thread-finished", "id", &mut self.ended),
            _ => return Ok(()),
        };
        let Some(body) = &hashed.body else {
            self.blind.insert(record.thread.clone());
            return Ok(());
        };
        if let Some([Some(child), Some(head)]) = read_attributes(body, element, [name, "head"]) {
            let why = format!("it says of {child} what was said before");
            if kept.insert(child, (head, record.position)).is_some() {
                return Err(at(&why));
            }
        }
        Ok(())
    }

    /// Compares what is left. `last` is the last head of a thread.
    pub(super) fn compare_rest(&self, last: impl Fn(&str) -> Option<Digest>) -> Result<(), ExportDamage> {
        let mut wrong: Vec<(u64, String)> = Vec::new();
        for (thread, (head, at)) in &self.ended {
            match last(thread) {
                None => {
                    wrong.push((*at, format!("it reports the end of {thread}, which is not in the export")))
                }
                Some(last) if last.to_string() != *head => {
                    wrong.push((*at, format!("it names another last head of {thread}")));
                }
                Some(_) => {}
            }
        }
        let confirmed = self.begun.iter();
        wrong.extend(
            confirmed
                .map(|(thread, (_, at))| (*at, format!("it confirms {thread}, which is not in the export"))),
        );
        let spawned = self.spawns.values();
        wrong.extend(
            spawned.map(|(.., at)| (*at, "the child that it spawned is not in the export".to_owned())),
        );
        match wrong.into_iter().min() {
            Some((position, why)) => Err(ExportDamage { position, why }),
            None => Ok(()),
        }
    }
}
