//! The time that a message from outside may take, in the naive pump. It runs while any turn of the message
//! is due. It is added up when it stops and when the pump checks it, and the result is reported.

use super::{Call, Naive, Payer};

/// The time of one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    limit: u64,
    /// How long it ran until it was last added up.
    used: u64,
    /// Since when it runs, on the monotonic clock.
    since: Option<i64>,
    /// When it was last added up, on the wall clock.
    said: i64,
    /// No mark of it is due before that.
    not_before: i64,
    is_told: bool,
    is_over: bool,
}

/// The time on the monotonic clock and on the wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    pub(crate) tick: i64,
    pub(crate) wall: i64,
}

impl Clock {
    fn ran(&self, now: i64) -> u64 {
        let ran = self.since.map_or(0, |since| now - since);
        (self.used + u64::try_from(ran).unwrap_or(0)).min(self.limit)
    }

    fn is_mostly_used(&self) -> bool {
        self.used * 5 >= self.limit * 4
    }

    /// When its next mark is due.
    fn mark(&self) -> Option<i64> {
        let mark = if self.is_told { self.limit } else { (self.limit * 4).div_ceil(5) };
        let left = i64::try_from(mark).unwrap_or(i64::MAX) - i64::try_from(self.used).unwrap_or(0);
        Some((self.since? + left).max(self.not_before))
    }
}

impl Naive {
    /// A message with limited time came: its time runs from then on, or once the messages before it are
    /// answered.
    pub(super) fn winds_clock(&mut self, payer: Payer, limit: u64, is_first: bool) {
        let Now { tick, wall: said } = self.now;
        let since = is_first.then_some(tick);
        self.met.extend((!is_first).then(|| "time stands behind a message".to_owned()));
        let (is_told, is_over) = (false, false);
        self.clocks.insert(payer, Clock { limit, used: 0, since, said, not_before: tick, is_told, is_over });
    }

    pub(super) fn open_calls<'n>(
        &'n self,
        payer: &'n Payer,
    ) -> impl Iterator<Item = (&'n String, &'n String, &'n Call)> {
        let all =
            self.threads.iter().flat_map(|(id, t)| t.calls.iter().map(move |(path, call)| (id, path, call)));
        all.filter(move |(.., call)| call.payer == *payer)
    }

    /// Whether any part of a message is at work.
    fn is_at_work(&self, payer: &Payer) -> bool {
        self.open_calls(payer).any(|(id, _, call)| call.is_ready() && !call.is_news && !self.is_halted(id))
    }

    /// Whether a message has used all its time.
    pub(super) fn is_out_of_time(&self, payer: &Payer) -> bool {
        self.clocks.get(payer).is_some_and(|clock| clock.is_over)
    }

    /// After an event: starts and stops the time of messages.
    pub(crate) fn looks_at_clocks(&mut self) {
        let payers: Vec<Payer> = self.clocks.keys().cloned().collect();
        for payer in payers {
            let is_open = self.open_calls(&payer).next().is_some();
            if !is_open && !self.has_timers_of(&payer) && !self.may_go_on(&payer) {
                self.clocks.remove(&payer);
                continue;
            }
            let is_at_work = self.is_at_work(&payer);
            let Some(clock) = self.clocks.get(&payer) else { continue };
            if !clock.is_over && clock.since.is_some() != is_at_work {
                self.adds_up(&payer);
            }
        }
    }

    /// The call of a message failed, and nothing of the message is left: its time stands still, without a word.
    pub(super) fn stops_clock(&mut self, payer: &Payer) {
        let wall = self.now.wall;
        if let Some(clock) = self.clocks.get_mut(payer).filter(|clock| clock.since.is_some()) {
            clock.used += u64::try_from(wall - clock.said).unwrap_or(0);
            (clock.since, clock.said) = (None, wall);
            clock.is_told |= clock.is_mostly_used();
        }
    }

    /// The pump checks the time of a message.
    pub(crate) fn elapsed(&mut self, payer: &Payer) {
        if self.clocks.get(payer).is_some_and(|clock| clock.since.is_some()) {
            self.adds_up(payer);
        }
    }

    fn adds_up(&mut self, payer: &Payer) {
        let now = self.now;
        let Some(clock) = self.clocks.get_mut(payer) else { return };
        (clock.used, clock.since) = (clock.ran(now.tick), None);
        let (used, limit) = (clock.used, clock.limit);
        if used >= limit {
            clock.is_over = true;
            self.ends_for_want_of_time(payer, &format!("time {used}/{limit}"));
        } else if clock.is_mostly_used() && !std::mem::replace(&mut clock.is_told, true) {
            self.warns(&format!("time {used}/{limit}"), |_, call| call.payer == *payer);
        }
        // Only now: a warning ends a wait.
        let runs = used < limit && self.is_at_work(payer);
        let Some(clock) = self.clocks.get_mut(payer) else { return };
        (clock.since, clock.said, clock.not_before) = (runs.then_some(now.tick), now.wall, now.tick);
        self.clocked.insert(format!("{} {} {runs} {used}/{limit}", payer.0, payer.1));
        if !runs {
            self.notes_why_it_stands(payer);
        }
    }

    /// The time of a message is over: each of its top calls that could go on may only answer, and any other
    /// closes. The root comes first.
    fn ends_for_want_of_time(&mut self, payer: &Payer, what: &str) {
        let tops = self.open_calls(payer).filter(|(_, path, call)| !path.contains('/') && !call.is_news);
        let tops: Vec<(String, String)> = tops.map(|(id, path, _)| (id.clone(), path.clone())).collect();
        for (thread, path) in tops {
            let Some(call) = self.call(&thread, &path) else { continue };
            let (turn, has_begun) = (call.turn, !call.held && (!call.asks || call.is_in_doubt()));
            let how = match () {
                () if !has_begun => "not begun",
                () if call.party.turns <= 1 => "one turn",
                () if call.wraps_up() => "told before",
                () if call.is_in_doubt() => "in doubt",
                () if call.is_ready() => "turn due",
                () => "joining",
            };
            if !call.running().is_empty() {
                self.met.insert("time over, children running".to_owned());
            }
            self.met.insert(format!("time over, {how}"));
            match how {
                "not begun" | "one turn" => {
                    self.closes(&thread, &path, "budget", "final-report".to_owned());
                }
                "told before" => {}
                "joining" => self.turns_to_last(&thread, &path, turn, what),
                _ => self.leaves_to_its_reply(&thread, &path, what),
            }
        }
        self.drops_timers_of(payer);
    }

    /// The program restarts: active messages went on using their time, by the wall clock.
    pub(crate) fn starts_again(&mut self) {
        let now = self.now;
        for clock in self.clocks.values_mut().filter(|clock| clock.since.is_some()) {
            self.met.insert("time runs over a restart".to_owned());
            clock.since = Some(now.tick - (now.wall - clock.said).max(0));
            clock.not_before = now.tick;
        }
    }

    /// When the next mark is due.
    pub(crate) fn next_mark(&self) -> Option<i64> {
        self.clocks.values().filter_map(Clock::mark).min()
    }

    /// The messages with limited time, chosen by number.
    pub(crate) fn clock(&self, pick: u16) -> Option<(&Payer, u64)> {
        let all: Vec<_> = self.clocks.iter().map(|(payer, clock)| (payer, clock.limit)).collect();
        all.get(usize::from(pick) % all.len().max(1)).copied()
    }

    fn notes_why_it_stands(&mut self, payer: &Payer) {
        let mut why = Vec::new();
        for (id, path, call) in self.open_calls(payer) {
            why.extend(call.asks.then_some("time stands for a person"));
            why.extend((call.is_ready() && self.is_halted(id)).then_some("time stands in a pause"));
            let sleeps = !call.waits.is_empty() && call.running().is_empty() && self.has_timer(id, path);
            why.extend(sleeps.then_some("time stands for a timer"));
        }
        self.met.extend(why.into_iter().map(str::to_owned));
    }
}
