//! The order of a view: calls as they were asked for, each with its turns. For a listener that sees the thread, what
//! was said inside a call comes between the item that asked for it and its answer. Pure: watched calls and open ones
//! come in, places of records go out, and each record has one place.
//!
//! The listener's own messages keep their order from the view of the call alone, so only what was said inside a call
//! is between the call and its answer. A call of the listener that others asked for is shown in one piece: its
//! request with its turns, and not among the items of the asker.

use std::collections::{BTreeMap, HashMap, HashSet};

use systole_wire::ask::MessageSpot;

use super::viewed_call::{CallOrder, ViewOwner, ViewedCall, ViewedTurn, make_key, turn_before};
use crate::pump::state::Thread;
use crate::types::ids::CallPath;

/// A record in its place.
pub(super) struct PlacedMessage<'t> {
    /// The record.
    pub(super) seq: u64,
    /// Its place in its call.
    pub(super) spot: MessageSpot,
    /// Its place for the listener whose view it is.
    pub(super) shown: MessageSpot,
    /// Whether a turn begins with it.
    pub(super) begins: bool,
    /// Its call.
    pub(super) told: &'t ViewedCall,
    /// Whether that is the call of the view.
    pub(super) is_whose: bool,
}

/// What follows in open calls after what was told of them so far: for the call of the view, what its due turn shows;
/// for the calls that contain it, what was said before it in the same reply.
pub(super) type OpenTurns = HashMap<CallPath, ViewedTurn>;

/// What the open calls add; `None` if one of them is no longer open.
pub(super) fn find_open(
    thread: &Thread,
    whose: &ViewOwner,
    is_watched: impl Fn(&CallPath) -> bool,
) -> Option<OpenTurns> {
    let own = thread.calls.get(&whose.call)?;
    let mut open = HashMap::from([(whose.call.clone(), turn_before(own, true))]);
    let mut inner = whose.call.clone();
    while let Some((path, _, asked)) = inner.caller().filter(|(path, ..)| is_watched(path)) {
        let request = thread.calls.get(&inner)?.request;
        let said = turn_before(thread.calls.get(&path)?, false).into_iter();
        // Later items are recorded later, and so are the answers to earlier items.
        let before = |(spot, seq): &(MessageSpot, u64)| match spot {
            MessageSpot::Said { ordinal, .. } => *ordinal != asked && *seq < request,
            _ => false,
        };
        open.insert(path.clone(), said.filter(before).collect());
        inner = path;
    }
    Some(open)
}

/// Puts every record in its place.
pub(super) fn place_calls<'t>(
    calls: &'t BTreeMap<CallOrder, ViewedCall>,
    open: &'t OpenTurns,
    whose: &'t CallPath,
) -> Vec<PlacedMessage<'t>> {
    let mut order = PlacementOrder {
        calls,
        open,
        whose,
        inside: HashMap::new(),
        own: HashSet::new(),
        done: HashSet::new(),
        placed: Vec::new(),
    };
    let mut outer = Vec::new();
    for (key, told) in calls {
        match key.1.caller() {
            Some((caller, turn, ordinal)) if calls.contains_key(&make_key(&caller)) => {
                if told.is_own {
                    order.own.insert((caller.clone(), turn, ordinal));
                }
                order.inside.entry((caller, turn)).or_default().push(key);
            }
            _ => outer.push(key),
        }
    }
    for key in outer {
        order.place_call(key, None, &HashSet::new());
    }
    order.placed
}

struct PlacementOrder<'t> {
    calls: &'t BTreeMap<CallOrder, ViewedCall>,
    open: &'t OpenTurns,
    whose: &'t CallPath,
    /// The calls that a turn of another call asked for.
    inside: HashMap<(CallPath, u32), Vec<&'t CallOrder>>,
    /// The items that asked for the listener's own calls.
    own: HashSet<(CallPath, u32, u32)>,
    done: HashSet<u64>,
    placed: Vec<PlacedMessage<'t>>,
}

impl<'t> PlacementOrder<'t> {
    /// Places a call. `within` is the turn of the listener's own call that contains it, and `later` are the records
    /// that belong among the answers of its asker.
    fn place_call(&mut self, key: &'t CallOrder, within: Option<u32>, later: &HashSet<u64>) {
        let Some(told) = self.calls.get(key) else { return };
        let path = &key.1;
        let is_whose = path == self.whose;
        let last = self.open.get(path);
        // The request takes the place of turn 0.
        for (number, turn) in (0u32..).zip(told.turns.iter().chain(last)) {
            // An earlier request belongs to the turn that answered it.
            let mut begins = if told.is_own { is_whose || number != 1 } else { within.is_none() };
            let said = turn
                .iter()
                .take_while(|(spot, _)| matches!(spot, MessageSpot::Said { .. } | MessageSpot::Request))
                .count();
            let (said, since) = turn.split_at(said);
            for (spot, seq) in said {
                let is_elsewhere = matches!(spot, MessageSpot::Said { turn, ordinal }
                    if self.own.contains(&(path.clone(), *turn, *ordinal)));
                if !is_elsewhere {
                    self.place_message(told, (*spot, *seq), within, later, &mut begins);
                }
            }
            let answers = since.iter().filter(|(spot, _)| matches!(spot, MessageSpot::Answer { .. }));
            let answers: HashSet<u64> = answers.map(|(_, seq)| *seq).collect();
            let inside = if told.is_own { Some(number) } else { within };
            for inner in self.inside.remove(&(path.clone(), number)).unwrap_or_default() {
                self.place_call(inner, inside, &answers);
            }
            for (spot, seq) in since {
                self.place_message(told, (*spot, *seq), within, later, &mut begins);
            }
        }
    }

    fn place_message(
        &mut self,
        told: &'t ViewedCall,
        (spot, seq): (MessageSpot, u64),
        within: Option<u32>,
        later: &HashSet<u64>,
        begins: &mut bool,
    ) {
        // The listener's own message is placed in its own call, even if it is for others.
        if self.done.contains(&seq) || !told.is_own && later.contains(&seq) {
            return;
        }
        self.done.insert(seq);
        let shown = if told.is_own { spot } else { MessageSpot::Thread { turn: within } };
        let is_whose = told.path == *self.whose;
        let begins = std::mem::take(begins);
        self.placed.push(PlacedMessage { seq, spot, shown, begins, told, is_whose });
    }
}
