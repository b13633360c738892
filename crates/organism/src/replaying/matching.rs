//! Which recorded call a delivery of the replay repeats: the one in the same place of the tree with the same payload;
//! if there is none, the first one that no other call has repeated, with the same listener, thread and payload.

use std::collections::{HashMap, HashSet};

use systole_core::types::delivery::{DeliveredTurn, Delivery, ShownRecords};
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::record::Record;

use super::history::{TreeHistory, TurnPlace};
use super::tree_records::RecordedTree;
use systole_queries::comparable::comparable_body;

type CallPlace = (ThreadId, CallPath);

/// The recorded calls, by place and by content.
pub(super) struct RecordedCalls {
    contents: HashMap<CallPlace, (Name, Digest)>,
    by_content: HashMap<(ThreadId, Name, Digest), Vec<CallPath>>,
    /// The recorded call for each call of the replay.
    found: HashMap<CallPlace, Option<CallPath>>,
    taken: HashSet<CallPlace>,
    /// The root of the replay may have another id than the recorded one.
    root: ThreadId,
}

/// What a call works on, without what differs in each run.
fn hash_content(record: &Record) -> Digest {
    Digest::hash_bytes(comparable_body(record).as_bytes())
}

impl RecordedCalls {
    /// The calls of a tree.
    pub(super) fn from_tree(tree: &RecordedTree, history: &TreeHistory) -> RecordedCalls {
        let mut calls: Vec<(&CallPlace, &Record)> = history
            .openings
            .iter()
            .filter_map(|(place, at)| Some((place, &tree.records.get(*at)?.1)))
            .collect();
        calls.sort_by_key(|((thread, path), _)| (thread.clone(), path.steps()));
        let (mut contents, mut by_content) = (HashMap::new(), HashMap::<_, Vec<CallPath>>::new());
        for (place, record) in calls {
            let Some(listener) = record.header.to.clone() else { continue };
            let content = hash_content(record);
            by_content.entry((place.0.clone(), listener.clone(), content)).or_default().push(place.1.clone());
            contents.insert(place.clone(), (listener, content));
        }
        let (found, taken) = (HashMap::new(), HashSet::new());
        RecordedCalls { contents, by_content, found, taken, root: tree.root.clone() }
    }

    /// The recorded turn that a delivery repeats. `by_place` says that the payload need not be the same: an agent has
    /// its answers by place.
    pub(super) fn find_turn(&mut self, delivery: &Delivery, by_place: bool) -> Option<TurnPlace> {
        let id = &delivery.lease.id;
        let thread = self.recorded_thread(&id.thread);
        let own = (thread.clone(), id.call.clone());
        if let Some(found) = self.found.get(&own) {
            return found.clone().map(|path| (thread, path, id.turn));
        }
        let shown = match &delivery.turn {
            DeliveredTurn::Recorded(turn) => match &turn.shows {
                ShownRecords::Request(request) => Some(hash_content(request)),
                ShownRecords::Answers { .. } => None,
            },
            DeliveredTurn::Composed(_) => None,
        };
        let listener = &delivery.lease.listener;
        let known = self.contents.get(&own).filter(|(name, _)| name == listener);
        let is_same = known.is_some_and(|(_, content)| shown.is_none_or(|shown| shown == *content));
        let same_content = shown.and_then(|shown| {
            let paths = self.by_content.get(&(thread.clone(), listener.clone(), shown))?;
            paths.iter().find(|path| !self.taken.contains(&(thread.clone(), (*path).clone()))).cloned()
        });
        let in_place = || known.filter(|_| by_place).map(|_| id.call.clone());
        let found = if is_same { Some(id.call.clone()) } else { same_content.or_else(in_place) };
        if let Some(path) = &found {
            self.taken.insert((thread.clone(), path.clone()));
        }
        self.found.insert(own, found.clone());
        found.map(|path| (thread, path, id.turn))
    }

    /// The recorded name of a thread of the replay.
    fn recorded_thread(&self, thread: &ThreadId) -> ThreadId {
        let below = thread.as_str().split_once('.').map(|(_, below)| format!("{}.{below}", self.root));
        let named = below.map_or_else(|| Ok(self.root.clone()), |id| ThreadId::parse(&id));
        named.unwrap_or_else(|_| thread.clone())
    }
}
