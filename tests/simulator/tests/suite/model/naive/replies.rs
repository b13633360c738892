//! How the naive pump handles a reply: its items one by one, and what follows once all were judged.

use super::threads::is_kept;
use super::{DEEPEST, MOST_CHILDREN, MOST_ITEMS, Naive, Party, Shown, Thrown, nested};

impl Naive {
    /// A reply to the due turn of a call.
    pub(crate) fn replied(&mut self, thread: &str, path: &str, thrown: &[Thrown]) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        let (turn, party) = (call.turn, call.party);
        if call.wraps_up() {
            return self.answers_at_last(thread, path, thrown);
        }
        if thrown.is_empty() {
            return self.ends_silently(thread, path, party);
        }
        self.settles_turn(thread, path);
        let Some(call) = self.call_mut(thread, path) else { return };
        if thrown.len() > MOST_ITEMS {
            call.items.push(Some("reply.too-many-items".to_owned()));
            return self.goes_on(thread, path, turn, Some("reply.too-many-items".to_owned()));
        }
        let steps = thrown.iter().filter(|item| !is_kept(item)).count();
        for item in thrown {
            if let Thrown::Todo(condition, is_done) = item {
                call.lists.insert(*condition, !is_done);
            }
        }
        if let (1, None) = (steps, call.nudge(turn))
            && let Some(Thrown::Final(number)) = thrown.iter().find(|item| !is_kept(item))
        {
            return self.closes(thread, path, "answered", format!("n{number}"));
        }
        let mut refused = None;
        for (ordinal, item) in thrown.iter().enumerate() {
            let answer = self.item(thread, path, turn, ordinal, item, steps);
            let shown = answer.as_ref().map(|(shown, _)| shown.clone());
            if let Some((code, true)) = answer {
                refused.get_or_insert(code);
            }
            if let Some(call) = self.call_mut(thread, path) {
                call.items.push(shown);
            }
        }
        // Waits come last, so that each sees what the other items began and ended.
        for (ordinal, item) in thrown.iter().enumerate() {
            let Thrown::Wait(enough, named) = item else { continue };
            if let Some(code) = self.waits(thread, path, ordinal, *enough, named) {
                refused.get_or_insert(code.clone());
                if let Some(call) = self.call_mut(thread, path) {
                    call.items[ordinal] = Some(code);
                }
            }
        }
        self.goes_on(thread, path, turn, refused);
    }

    /// The due turn has its reply, and its content counts as shown.
    pub(super) fn settles_turn(&mut self, thread: &str, path: &str) {
        let Some(call) = self.call_mut(thread, path) else { return };
        call.items.clear();
        call.gatherings.clear();
        call.questions.clear();
        call.showing.clear();
        self.shows_firings(thread, path);
    }

    /// Unusable output: one item, with the listener's own code.
    pub(crate) fn again(&mut self, thread: &str, path: &str, code: &str) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        let turn = call.turn;
        self.settles_turn(thread, path);
        let Some(call) = self.call_mut(thread, path) else { return };
        call.items.push(Some(code.to_owned()));
        self.goes_on(thread, path, turn, Some("listener.failed".to_owned()));
    }

    /// The answer to an item, and whether it is a refusal; none while it is open.
    fn item(
        &mut self,
        thread: &str,
        path: &str,
        turn: u32,
        ordinal: usize,
        item: &Thrown,
        steps: usize,
    ) -> Option<(Shown, bool)> {
        let depth = self.depth(thread, path);
        let deepest = self.limits.map_or(DEEPEST, |limits| limits.depth);
        let call = self.call_mut(thread, path)?;
        let asks = matches!(item, Thrown::Call(..) | Thrown::Spawn(..) | Thrown::Cast(..));
        if asks && call.party.turns <= 1 {
            return Some(("budget.messages".to_owned(), true));
        }
        if asks && depth + 1 >= deepest {
            return Some(("budget.depth".to_owned(), true));
        }
        let payer = call.payer.clone();
        if asks && let Some(code) = self.exceeds(thread, &payer, item) {
            let at_end = self.messages_at_their_end(thread, &payer);
            let call = self.call_mut(thread, path)?;
            call.is_spent = call.is_spent.take().or(at_end);
            return Some((code.to_owned(), true));
        }
        let call = self.call_mut(thread, path)?;
        match item {
            Thrown::Note | Thrown::Todo(..) => Some(("-".to_owned(), false)),
            Thrown::Wait(..) => None,
            Thrown::Person if turn >= call.party.turns => {
                let is_single = call.party.turns <= 1;
                let at_end = self.messages_at_their_end(thread, &payer).filter(|_| !is_single);
                let call = self.call_mut(thread, path)?;
                call.is_spent = call.is_spent.take().or(at_end);
                Some(("budget.messages".to_owned(), true))
            }
            Thrown::Person => {
                call.questions.push(ordinal);
                None
            }
            Thrown::Sets(id, repeats) => Some(self.sets(thread, path, *id, *repeats)),
            Thrown::Unsets(id) => Some(self.unsets(thread, path, id)),
            Thrown::Ends(id) => Some(self.ends_child(thread, path, id)),
            Thrown::Steers(id, to, number) => Some(self.steers(thread, path, id, *to, *number)),
            Thrown::Refused => Some(("payload.invalid".to_owned(), true)),
            Thrown::Final(_) if steps > 1 => Some(("reply.final-not-alone".to_owned(), true)),
            Thrown::Final(_) => {
                let word = call.nudge(turn).unwrap_or("children-open");
                call.nudged = true;
                Some((word.to_owned(), true))
            }
            Thrown::Call(party, number) => {
                let (nested, what) = (nested(path, turn, ordinal), format!("n{number}"));
                if let Some(code) = self.turns_in_circles((thread, path, turn), *party, &what) {
                    return Some((code.to_owned(), true));
                }
                self.opens((thread, &nested), payer.clone(), *party, what.clone(), false);
                self.pays(thread, &payer, 1, None);
                self.remembers((thread, path, turn), *party, &what);
                None
            }
            Thrown::Cast(takers, is_first_enough, number) => {
                self.casts((thread, path, turn, ordinal), takers, *is_first_enough, *number)
            }
            Thrown::Spawn(label, party, number) => self.spawns(thread, path, *label, *party, *number),
            Thrown::ForThread(id) => Some(match call.children.iter().find(|(child, _)| child == id) {
                None => ("unknown_thread".to_owned(), true),
                Some((_, true)) => ("thread_ended".to_owned(), true),
                Some((_, false)) => ("route.not-a-peer".to_owned(), true),
            }),
        }
    }

    fn spawns(
        &mut self,
        thread: &str,
        path: &str,
        label: Option<&str>,
        party: Party,
        number: u64,
    ) -> Option<(Shown, bool)> {
        let payer = self.call(thread, path)?.payer.clone();
        if self.call(thread, path)?.running().len() >= MOST_CHILDREN {
            return Some(("budget.children".to_owned(), true));
        }
        let parent = self.threads.get_mut(thread)?;
        let label = match label {
            None => format!("c{}", parent.spawns + 1),
            Some(label) => {
                let given = parent.labels.entry(label.to_owned()).or_default();
                *given += 1;
                if *given == 1 { label.to_owned() } else { format!("{label}-{}", *given - 1) }
            }
        };
        parent.spawns += 1;
        let child = format!("{thread}.{label}");
        self.call_mut(thread, path)?.children.push((child.clone(), false));
        self.opens((&child, "1"), payer.clone(), party, format!("n{number}"), false);
        self.pays(thread, &payer, 1, Some(&child));
        Some((format!("spawned {child} {}", self.ceiling_of(&child)), false))
    }

    /// After a reply without a final.
    fn goes_on(&mut self, thread: &str, path: &str, turn: u32, refused: Option<String>) {
        let Some(call) = self.call_mut(thread, path) else { return };
        call.is_settled = call.party.turns <= 1;
        let (party, is_spent) = (call.party, call.is_spent.clone());
        match refused {
            _ if call.is_in_last_turn() => self.closes(thread, path, "budget", "final-report".to_owned()),
            // The sender reads what was wrong; its caller reads only that the sender is at fault.
            Some(code) if party.turns <= 1 => {
                let groups = ["payload.", "route.", "reply.", "thread.", "unknown_thread", "thread_ended"];
                let is_invalid = groups.iter().any(|group| code.starts_with(group));
                let told = if is_invalid { "listener.failed".to_owned() } else { code };
                self.closes(thread, path, "failed", told);
            }
            None if party.turns <= 1 => self.ends_silently(thread, path, party),
            _ if let Some(stand) = is_spent => {
                self.turns_to_last(thread, path, turn + 1, &format!("messages {stand}"));
            }
            _ if !call.wraps_up() && turn >= party.turns => {
                self.turns_to_last(thread, path, turn + 1, &format!("turns {turn}/{}", party.turns));
            }
            _ => {
                let Some(call) = self.call_mut(thread, path) else { return };
                if call.items.iter().all(Option::is_some) {
                    call.turns_to(turn + 1);
                } else {
                    call.begins(turn + 1);
                }
            }
        }
    }
}
