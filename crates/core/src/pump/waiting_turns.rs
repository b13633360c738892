//! The turns that wait for one listener. Clients take turns, each with the work of the threads that it opened, so however
//! much one client sends, the work of another waits for one turn of each client at most. The work of one client keeps its
//! order.

use std::collections::VecDeque;

use super::event::ReadyTurn;
use crate::types::fast_maps::FastMap;
use crate::types::ids::{AttemptId, Name};

/// The work of one client.
#[derive(Debug, Default)]
struct ClientLine {
    /// Further attempts, and those of an earlier life of the pump. They go first, in their order.
    first: VecDeque<ReadyTurn>,
    waiting: VecDeque<ReadyTurn>,
}

impl ClientLine {
    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.waiting.is_empty()
    }
}

/// Work that waits for a listener.
#[derive(Debug, Default)]
pub struct WaitingTurns {
    /// A line stays when it is empty: there are no more than clients.
    lines: FastMap<Name, ClientLine>,
    /// The clients with waiting work, in the order of their turns.
    turns: VecDeque<Name>,
}

impl WaitingTurns {
    /// Adds work of a client, before its other work or behind it.
    pub fn put(&mut self, client: &Name, work: ReadyTurn, goes_first: bool) {
        if !self.lines.contains_key(client) {
            self.lines.insert(client.clone(), ClientLine::default());
        }
        let Some(line) = self.lines.get_mut(client) else { return };
        if line.is_empty() {
            self.turns.push_back(client.clone());
        }
        if goes_first { line.first.push_back(work) } else { line.waiting.push_back(work) }
    }

    /// The next work of the client whose turn it is.
    pub fn take_next(&mut self) -> Option<ReadyTurn> {
        let client = self.turns.pop_front()?;
        let line = self.lines.get_mut(&client)?;
        let work = line.first.pop_front().or_else(|| line.waiting.pop_front());
        if !line.is_empty() {
            self.turns.push_back(client);
        }
        work
    }

    /// How much work of a client waits.
    pub fn count_of(&self, client: &Name) -> usize {
        self.lines.get(client).map_or(0, |line| line.first.len() + line.waiting.len())
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Removes the work of an attempt.
    pub fn remove(&mut self, id: &AttemptId) {
        for line in self.lines.values_mut() {
            line.first.retain(|work| work.id != *id);
            line.waiting.retain(|work| work.id != *id);
        }
        let Self { lines, turns } = self;
        turns.retain(|client| lines.get(client).is_some_and(|line| !line.is_empty()));
    }

    /// All of it, client by client in the order of their turns: what is recorded of it must not hang on the order of a map.
    pub fn iter(&self) -> impl Iterator<Item = &ReadyTurn> {
        let lines = self.turns.iter().filter_map(|client| self.lines.get(client));
        lines.flat_map(|line| line.first.iter().chain(&line.waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ids::{CallPath, ThreadId};
    use crate::types::time::Millis;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn work(number: u32) -> ReadyTurn {
        let thread = ThreadId::parse("sess-1f0c9a2b77d1").unwrap();
        let id = AttemptId { thread, call: CallPath::new_top(number), turn: 1, attempt: 1 };
        ReadyTurn { listener: name("tool"), id, not_before: Millis(0) }
    }

    /// The numbers in the order in which they go out.
    fn drain(turns: &mut WaitingTurns) -> Vec<u32> {
        std::iter::from_fn(|| turns.take_next()).map(|work| work.id.call.top_number()).collect()
    }

    #[test]
    fn d12_clients_take_turns_and_each_keeps_its_order() {
        let mut turns = WaitingTurns::default();
        let [ann, ben, cid] = ["ann", "ben", "cid"].map(name);
        (1..=4).for_each(|n| turns.put(&ann, work(n), false));
        turns.put(&ben, work(11), false);
        turns.put(&ann, work(5), true);
        turns.put(&cid, work(21), false);
        turns.put(&ben, work(12), false);
        assert_eq!([&ann, &ben, &name("dan")].map(|client| turns.count_of(client)), [5, 2, 0]);
        assert_eq!(drain(&mut turns), [5, 11, 21, 1, 12, 2, 3, 4]);
        assert!(drain(&mut turns).is_empty());
        turns.put(&ben, work(13), false);
        assert_eq!(drain(&mut turns), [13]);
    }

    #[test]
    fn c3_waiting_work_is_listed_in_the_order_of_turns() {
        let mut turns = WaitingTurns::default();
        for number in 1..=12 {
            turns.put(&name(&format!("client-{number}")), work(number), false);
        }
        let listed: Vec<u32> = turns.iter().map(|work| work.id.call.top_number()).collect();
        assert_eq!(listed, (1..=12).collect::<Vec<u32>>());
    }

    #[test]
    fn who_has_no_work_left_has_no_turn() {
        let mut turns = WaitingTurns::default();
        let [ann, ben] = ["ann", "ben"].map(name);
        turns.put(&ann, work(1), false);
        turns.put(&ben, work(2), false);
        turns.put(&ben, work(3), false);
        turns.remove(&work(1).id);
        turns.remove(&work(2).id);
        assert_eq!(turns.iter().count(), 1);
        turns.put(&ann, work(4), false);
        assert_eq!(drain(&mut turns), [3, 4]);
    }
}
