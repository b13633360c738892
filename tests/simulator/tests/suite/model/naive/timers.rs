//! Timers of the naive pump: a call sets and cancels them, they fire into its inbox while it is open, and
//! they open another call once a root's top call has left them behind.

use super::{Call, MOST_WAITING, Naive, Party, Payer, Shown};

/// Timers of one thread.
const MOST_TIMERS: usize = 32;

/// A timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    call: String,
    party: Party,
    payer: Payer,
    repeats: bool,
    fired: Fired,
}

/// The last firing of a timer.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fired {
    Nowhere,
    /// Into the inbox of its call, as that firing of the thread.
    Told(u64),
    /// It opened that call.
    Opened(String),
}

impl Naive {
    /// Sets a timer: the answer to it, and whether that is a refusal.
    pub(super) fn sets(
        &mut self,
        thread: &str,
        path: &str,
        id: Option<&str>,
        repeats: bool,
    ) -> (Shown, bool) {
        let here = self.threads.entry(thread.to_owned()).or_default();
        if id.is_some_and(|id| here.timers.contains_key(id)) {
            return ("payload.invalid".to_owned(), true);
        }
        if here.timers.len() >= MOST_TIMERS {
            return ("thread.limit".to_owned(), true);
        }
        let free =
            || (1..).map(|n| format!("t{n}")).find(|id| !here.timers.contains_key(id)).unwrap_or_default();
        let id = id.map_or_else(free, str::to_owned);
        let Call { party, payer, .. } = here.calls[path].clone();
        let timer = Timer { call: path.to_owned(), party, payer, repeats, fired: Fired::Nowhere };
        here.timers.insert(id.clone(), timer);
        (format!("set {id}"), false)
    }

    /// Cancels a timer of the call, or one that an earlier top call of its listener left behind.
    pub(super) fn unsets(&mut self, thread: &str, path: &str, id: &str) -> (Shown, bool) {
        let unknown = || ("timer.unknown".to_owned(), true);
        let Some(here) = self.threads.get_mut(thread) else { return unknown() };
        let listener = here.calls[path].party.name;
        let may = here.timers.get(id).is_some_and(|timer| {
            let is_left = !here.calls.contains_key(&timer.call) && !path.contains('/');
            timer.call == path || is_left && timer.party.name == listener
        });
        if !may {
            return unknown();
        }
        here.timers.remove(id);
        (format!("unset {id}"), false)
    }

    /// The set timers, by thread.
    pub(crate) fn timers(&self) -> Vec<(String, String)> {
        let all = self.threads.iter().flat_map(|(thread, t)| t.timers.keys().map(move |id| (thread, id)));
        all.map(|(thread, id)| (thread.clone(), id.clone())).collect()
    }

    /// The timers of one thread.
    pub(crate) fn timers_of(&self, thread: &str) -> Vec<String> {
        self.threads.get(thread).map_or_else(Vec::new, |here| here.timers.keys().cloned().collect())
    }

    /// Whether a repeating timer opened a call.
    pub(crate) fn has_opened(&self) -> bool {
        let mut timers = self.threads.values().flat_map(|here| here.timers.values());
        timers.any(|timer| matches!(timer.fired, Fired::Opened(_)))
    }

    /// A timer is due. If no turn has shown its last firing, it waits for that.
    pub(crate) fn is_due(&mut self, thread: &str, id: &str) {
        let Some(here) = self.threads.get_mut(thread) else { return };
        let Some(timer) = here.timers.get(id).cloned() else { return };
        let setter = here.calls.get(&timer.call);
        let is_shown = match &timer.fired {
            Fired::Nowhere => true,
            Fired::Told(firing) => !setter.is_some_and(|call| call.firings.iter().any(|(n, _)| n == firing)),
            Fired::Opened(call) => !here.calls.contains_key(call),
        };
        let waiting = here.calls.values().filter(|call| call.held).count();
        if !is_shown || setter.is_none() && waiting >= MOST_WAITING {
            return;
        }
        let shown = format!("fired {id}");
        let fired = if setter.is_some() {
            here.firings += 1;
            let firing = here.firings;
            if let Some(call) = here.calls.get_mut(&timer.call) {
                call.waiting.push((usize::MAX, shown));
                call.firings.push((firing, false));
            }
            Fired::Told(firing)
        } else {
            here.tops += 1;
            here.is_followed();
            let (top, held) = (here.tops.to_string(), !here.calls.is_empty());
            self.opens((thread, &top), timer.payer.clone(), timer.party, shown, held);
            // The pump's own messages need no approval.
            self.call_mut(thread, &top).into_iter().for_each(|call| {
                call.asks = false;
                call.timer = Some(id.to_owned());
            });
            Fired::Opened(top)
        };
        let Some(here) = self.threads.get_mut(thread) else { return };
        if timer.repeats || matches!(fired, Fired::Told(_)) {
            here.timers.insert(id.to_owned(), Timer { fired, ..timer.clone() });
        } else {
            here.timers.remove(id);
        }
        self.heard(thread, &timer.call);
    }

    /// A call is about to close. If a timer opened it, the news of that waits as one more top call after it.
    pub(super) fn tells_of_timer(&mut self, (thread, path): (&str, &str), outcome: &str, shown: &str) {
        let Some(call) = self.call(thread, path).cloned() else { return };
        let (Some(id), Some(to)) = (call.timer, call.party.tells) else { return };
        let inner = if outcome == "handled" { String::new() } else { format!(" {shown}") };
        let Some(here) = self.threads.get_mut(thread) else { return };
        here.tops += 1;
        let top = here.tops.to_string();
        self.opens((thread, &top), call.payer, *to, format!("done {id} {path} {outcome}{inner}"), true);
        self.call_mut(thread, &top).into_iter().for_each(|call| (call.asks, call.is_news) = (false, true));
        self.met.insert(format!("news of a timer, {outcome}"));
    }

    /// The due turn of a call was shown: its one-shot firings are over.
    pub(super) fn shows_firings(&mut self, thread: &str, path: &str) {
        let Some(here) = self.threads.get_mut(thread) else { return };
        let Some(call) = here.calls.get_mut(path) else { return };
        let shown: Vec<u64> = call.firings.iter().filter(|(_, shows)| *shows).map(|(n, _)| *n).collect();
        call.firings.retain(|(_, shows)| !shows);
        here.timers.retain(|_, timer| {
            let is_shown = matches!(timer.fired, Fired::Told(firing) if shown.contains(&firing));
            timer.call != path || timer.repeats || !is_shown
        });
    }

    /// Calls of a thread close: their timers end with them, except those that a root's top call leaves.
    pub(super) fn leaves_timers(&mut self, thread: &str, closed: &[String]) {
        let is_over: Vec<Payer> =
            self.clocks.keys().filter(|payer| self.is_out_of_time(payer)).cloned().collect();
        let Some(here) = self.threads.get_mut(thread) else { return };
        let may_stay = |timer: &Timer| {
            !thread.contains('.') && !timer.call.contains('/') && !is_over.contains(&timer.payer)
        };
        here.timers.retain(|_, timer| !closed.contains(&timer.call) || may_stay(timer));
    }

    /// Whether a message has a set timer.
    pub(super) fn has_timers_of(&self, payer: &Payer) -> bool {
        self.threads.values().any(|here| here.timers.values().any(|timer| timer.payer == *payer))
    }

    /// The timers that an earlier call left end with the time of their message: their calls could not work.
    pub(super) fn drops_timers_of(&mut self, payer: &Payer) {
        for here in self.threads.values_mut() {
            let is_open = |call: &String| here.calls.contains_key(call);
            here.timers.retain(|_, timer| timer.payer != *payer || is_open(&timer.call));
        }
    }

    /// Whether a call has a set timer.
    pub(super) fn has_timer(&self, thread: &str, path: &str) -> bool {
        self.threads.get(thread).is_some_and(|here| here.timers.values().any(|timer| timer.call == path))
    }
}

impl Call {
    /// The due turn shows what reached it.
    pub(super) fn shows_what_fired(&mut self) {
        self.firings.iter_mut().for_each(|(_, shows)| *shows = true);
    }
}
