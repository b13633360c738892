//! Requests to the naive pump from outside: messages, steering messages, ends, pauses. Each gets an answer, at
//! least that it is done.

use super::{Call, MOST_WAITING, MOST_WORDS, Naive, Party};

fn refused(code: &str) -> String {
    format!("refused {code}")
}

impl Naive {
    /// A message opens a root, or a top call of one, or nothing.
    pub(crate) fn asked(&mut self, thread: &str, is_new: bool, key: &str, party: Party, number: u64) {
        let bytes = format!("{} {number}", party.name);
        self.told = Some(self.repeats(thread, key, &bytes).unwrap_or_else(|| {
            let waiting = self.threads.get(thread).map_or(0, |t| t.calls.values().filter(|c| c.held).count());
            match self.life(thread) {
                "none" if is_new => {}
                "none" => return refused("thread.unknown"),
                _ if thread.contains('.') => return refused("payload.not-built"),
                "ended" => return refused("thread.ended"),
                _ if waiting >= MOST_WAITING => return refused("thread.busy"),
                _ => {}
            }
            let root = self.threads.entry(thread.to_owned()).or_default();
            root.keys.insert(key.to_owned(), bytes);
            root.tops += 1;
            root.is_followed();
            let (top, held) = (root.tops.to_string(), !root.calls.is_empty());
            self.opens_budget(thread, &top, !held);
            let payer = (thread.to_owned(), top.clone());
            self.opens((thread, &top), payer, party, format!("n{number}"), held);
            "receipt".to_owned()
        }));
    }

    /// The answer for a bound key: the same receipt for the same bytes.
    fn repeats(&self, thread: &str, key: &str, bytes: &str) -> Option<String> {
        let bound = self.threads.get(thread)?.keys.get(key)?;
        Some(if bound == bytes { "receipt".to_owned() } else { refused("payload.id-conflict") })
    }

    /// The open top call of a thread that waits for none before it.
    pub(crate) fn open_top(&mut self, thread: &str) -> Option<(String, &mut Call)> {
        let calls = self.threads.get_mut(thread)?.calls.iter_mut();
        let mut tops = calls.filter(|(path, call)| !path.contains('/') && !call.held);
        tops.next().map(|(path, call)| (path.clone(), call))
    }

    /// A steering message from outside.
    pub(crate) fn steered(&mut self, thread: &str, key: &str, to: Party, number: u64) {
        let bytes = format!("steer {} {number}", to.name);
        self.told = Some(self.repeats(thread, key, &bytes).unwrap_or_else(|| {
            match self.life(thread) {
                "none" => return refused("thread.unknown"),
                _ if thread.contains('.') => return refused("payload.not-built"),
                "ended" => return refused("thread.ended"),
                _ => {}
            }
            let Some((path, call)) = self.open_top(thread) else { return refused("thread.resting") };
            if let Some(code) = call.cannot_hear(to) {
                return refused(code);
            }
            call.waiting.push((usize::MAX, format!("steer n{number}")));
            self.threads.entry(thread.to_owned()).or_default().keys.insert(key.to_owned(), bytes);
            self.heard(thread, &path);
            "receipt".to_owned()
        }));
    }

    /// Ends a thread with everything open in it.
    pub(crate) fn cancelled(&mut self, thread: &str) {
        self.told = Some(match self.life(thread) {
            "none" => refused("thread.unknown"),
            "ended" => refused("thread.ended"),
            _ => {
                self.cancels(thread);
                "done".to_owned()
            }
        });
    }

    /// Ends a root at rest.
    pub(crate) fn ended(&mut self, thread: &str) {
        let told = match self.life(thread) {
            "none" => refused("thread.unknown"),
            "ended" => refused("thread.ended"),
            "working" => refused("thread.busy"),
            _ => {
                let root = self.threads.entry(thread.to_owned()).or_default();
                root.ended = true;
                root.timers.clear();
                self.closed.insert((thread.to_owned(), String::new(), "over".to_owned()));
                "done".to_owned()
            }
        };
        self.told = Some(told);
    }

    /// Pauses or resumes a thread with everything below it, or everything.
    pub(crate) fn pauses(&mut self, thread: Option<&str>, halts: bool) {
        let life = thread.map_or("working", |id| self.life(id));
        self.told = Some(match life {
            "none" => refused("thread.unknown"),
            "ended" => refused("thread.ended"),
            _ if !halts && !self.is_halted(thread.unwrap_or("sys")) => refused("thread.not-paused"),
            _ => {
                match thread {
                    None => self.everything_halts = halts,
                    Some(id) => self.threads.entry(id.to_owned()).or_default().halts = halts,
                }
                "done".to_owned()
            }
        });
    }

    /// Whether nothing new of a thread goes out.
    pub(crate) fn is_halted(&self, thread: &str) -> bool {
        let is_above = |id: &String| id == thread || thread.starts_with(&format!("{id}."));
        self.everything_halts || self.threads.iter().any(|(id, here)| here.halts && is_above(id))
    }
}

impl Call {
    /// Why a steering message for a call would not be read, or is not meant for it.
    pub(super) fn cannot_hear(&self, to: Party) -> Option<&'static str> {
        let next = if self.items.iter().all(Option::is_some) { self.turn + 1 } else { self.turn };
        let words = self.waiting.iter().filter(|(_, shown)| shown.starts_with("steer ")).count();
        if self.party.name != to.name {
            return Some("route.not-a-peer");
        }
        if to.asks_a_person {
            return Some("payload.not-built");
        }
        if !self.has_turn_after(next - 1) {
            return Some("budget.messages");
        }
        (words >= MOST_WORDS).then_some("thread.busy")
    }
}
