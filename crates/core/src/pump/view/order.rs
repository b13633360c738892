//! The order of a view: calls as they were asked for, each with its turns; and, for whoever sees the thread, what was said
//! inside of a call between the item that asked for it and its answer. Pure: watched calls and open ones come in, places
//! of records go out, and each record has one place.
//!
//! What belongs to the listener itself stands where it stands in a view of its call alone, so that no call of it is
//! parted from its answer but by what was said inside. A call of its own that others asked for is told in one piece: its
//! request with its turns, and not among the items of whoever asked.

use std::collections::{BTreeMap, HashMap, HashSet};

use systole_wire::ask::Spot;

use super::{Key, Told, Turn, Whose, turn_before};
use crate::pump::state::Thread;
use crate::types::ids::CallPath;

/// A record in its place.
pub(super) struct Placed<'t> {
    /// The record.
    pub(super) seq: u64,
    /// Where in its call it stands.
    pub(super) spot: Spot,
    /// Where it stands for the listener whose view it is.
    pub(super) shown: Spot,
    /// Whether a turn begins with it.
    pub(super) begins: bool,
    /// Its call.
    pub(super) told: &'t Told,
    /// Whether that is the call whose view it is.
    pub(super) is_whose: bool,
}

/// What stands of open calls behind what was told of them so far: of the call whose view it is what its due turn shows,
/// and of those that it lies in what was said before it in the same reply.
pub(super) type Open = HashMap<CallPath, Turn>;

/// What the open calls have; none where one of them is open no longer.
pub(super) fn open(thread: &Thread, whose: &Whose, is_watched: impl Fn(&CallPath) -> bool) -> Option<Open> {
    let own = thread.calls.get(&whose.call)?;
    let mut open = HashMap::from([(whose.call.clone(), turn_before(own, true))]);
    let mut inner = whose.call.clone();
    while let Some((path, _, asked)) = inner.caller().filter(|(path, ..)| is_watched(path)) {
        let request = thread.calls.get(&inner)?.request;
        let said = turn_before(thread.calls.get(&path)?, false).into_iter();
        // Items behind it are recorded behind it, and so is what answers those before it.
        let before = |(spot, seq): &(Spot, u64)| match spot {
            Spot::Said { ordinal, .. } => *ordinal != asked && *seq < request,
            _ => false,
        };
        open.insert(path.clone(), said.filter(before).collect());
        inner = path;
    }
    Some(open)
}

/// Puts everything in its place.
pub(super) fn placed<'t>(
    calls: &'t BTreeMap<Key, Told>,
    open: &'t Open,
    whose: &'t CallPath,
) -> Vec<Placed<'t>> {
    let mut order = Order {
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
            Some((caller, turn, ordinal)) if calls.contains_key(&super::key(&caller)) => {
                if told.is_own {
                    order.own.insert((caller.clone(), turn, ordinal));
                }
                order.inside.entry((caller, turn)).or_default().push(key);
            }
            _ => outer.push(key),
        }
    }
    for key in outer {
        order.call(key, None, &HashSet::new());
    }
    order.placed
}

struct Order<'t> {
    calls: &'t BTreeMap<Key, Told>,
    open: &'t Open,
    whose: &'t CallPath,
    /// The calls that a turn of another one asked for.
    inside: HashMap<(CallPath, u32), Vec<&'t Key>>,
    /// The items that asked for calls of the listener itself.
    own: HashSet<(CallPath, u32, u32)>,
    done: HashSet<u64>,
    placed: Vec<Placed<'t>>,
}

impl<'t> Order<'t> {
    /// A call: `within` is the turn of the listener's own call inside of which it lies, and `later` what has its place
    /// among the answers of whoever asked for it.
    fn call(&mut self, key: &'t Key, within: Option<u32>, later: &HashSet<u64>) {
        let Some(told) = self.calls.get(key) else { return };
        let path = &key.1;
        let is_whose = path == self.whose;
        let last = self.open.get(path);
        // The request stands in the place of turn 0.
        for (number, turn) in (0u32..).zip(told.turns.iter().chain(last)) {
            // An earlier request goes with the turn that it was answered in.
            let mut begins = if told.is_own { is_whose || number != 1 } else { within.is_none() };
            let said =
                turn.iter().take_while(|(spot, _)| matches!(spot, Spot::Said { .. } | Spot::Request)).count();
            let (said, since) = turn.split_at(said);
            for (spot, seq) in said {
                let is_elsewhere = matches!(spot, Spot::Said { turn, ordinal }
                    if self.own.contains(&(path.clone(), *turn, *ordinal)));
                if !is_elsewhere {
                    self.place(told, (*spot, *seq), within, later, &mut begins);
                }
            }
            let answers = since.iter().filter(|(spot, _)| matches!(spot, Spot::Answer { .. }));
            let answers: HashSet<u64> = answers.map(|(_, seq)| *seq).collect();
            let inside = if told.is_own { Some(number) } else { within };
            for inner in self.inside.remove(&(path.clone(), number)).unwrap_or_default() {
                self.call(inner, inside, &answers);
            }
            for (spot, seq) in since {
                self.place(told, (*spot, *seq), within, later, &mut begins);
            }
        }
    }

    fn place(
        &mut self,
        told: &'t Told,
        (spot, seq): (Spot, u64),
        within: Option<u32>,
        later: &HashSet<u64>,
        begins: &mut bool,
    ) {
        // What is the listener's own has its place in its own call, whoever else it is for.
        if self.done.contains(&seq) || !told.is_own && later.contains(&seq) {
            return;
        }
        self.done.insert(seq);
        let shown = if told.is_own { spot } else { Spot::Thread { turn: within } };
        let is_whose = told.path == *self.whose;
        let begins = std::mem::take(begins);
        self.placed.push(Placed { seq, spot, shown, begins, told, is_whose });
    }
}
