//! Broadcasts of the naive pump: an item that several parties accept. All answers count, or only the first that
//! is not a failure.

use super::{Call, Naive, Party, Shown, nested};

/// The results so far of an item that several accept, by taker: the answer, and whether it is a failure.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    is_first_enough: bool,
    answers: Vec<Option<(Shown, bool)>>,
}

impl Gathering {
    /// What is shown if everything open is cancelled.
    pub(super) fn cut(&self) -> Shown {
        let shown = |answer: &Option<(Shown, bool)>| {
            answer.as_ref().map_or_else(|| "thread.cancelled".to_owned(), |(shown, _)| shown.clone())
        };
        self.answers.iter().map(shown).collect::<Vec<Shown>>().join("\n")
    }
}

/// The path of a taker's call.
fn of_taker(item: &str, taker: usize) -> String {
    format!("{item}:{taker}")
}

impl Call {
    /// Whether a due turn shows several answers to one item.
    pub(crate) fn shows_all(&self) -> bool {
        self.is_ready() && self.items.iter().flatten().any(|shown| shown.contains('\n'))
    }
}

impl Naive {
    /// A call for each taker, or for none if a limit has no room for all.
    pub(super) fn casts(
        &mut self,
        (thread, path, turn, ordinal): (&str, &str, u32, usize),
        takers: &[Party],
        is_first_enough: bool,
        number: u64,
    ) -> Option<(Shown, bool)> {
        let what = format!("cast n{number}");
        let circles = |to: &Party| self.turns_in_circles((thread, path, turn), *to, &what);
        if let Some(code) = takers.iter().find_map(circles) {
            return Some((code.to_owned(), true));
        }
        let call = self.call_mut(thread, path)?;
        let answers = takers.iter().map(|_| None).collect();
        call.gatherings.insert(ordinal, Gathering { is_first_enough, answers });
        let (payer, item) = (call.payer.clone(), nested(path, turn, ordinal));
        for (taker, party) in takers.iter().enumerate() {
            let path = of_taker(&item, taker);
            self.opens((thread, &path), payer.clone(), *party, format!("n{number}"), false);
        }
        self.pays(thread, &payer, takers.len() as u64, None);
        takers.iter().for_each(|to| self.remembers((thread, path, turn), *to, &what));
        None
    }

    /// The call of a taker closed: the item's answer by now, if it has one. Of several answers each has a line.
    pub(super) fn gathers(
        &mut self,
        (thread, caller): (&str, &str),
        item: &str,
        (shown, outcome): (Shown, &str),
    ) -> Option<(usize, Shown)> {
        let (turn, item) = item.split_once('.')?;
        let (ordinal, taker) =
            item.split_once(':').map_or((item, None), |(n, taker)| (n, taker.parse().ok()));
        let (turn, ordinal): (u32, usize) = (turn.parse().ok()?, ordinal.parse().ok()?);
        let Some(taker) = taker else { return Some((ordinal, shown)) };
        let item = nested(caller, turn, ordinal);
        let call = self.call_mut(thread, caller)?;
        let gathering = call.gatherings.get_mut(&ordinal)?;
        let is_failure = !matches!(outcome, "answered" | "handled");
        *gathering.answers.get_mut::<usize>(taker)? = Some((shown.clone(), is_failure));
        if gathering.is_first_enough && !is_failure {
            let others: Vec<String> = (0..gathering.answers.len()).map(|n| of_taker(&item, n)).collect();
            self.drops(thread, &others);
            self.met.insert("first of several".to_owned());
            return Some((ordinal, shown));
        }
        let all: Option<Vec<Shown>> =
            gathering.answers.iter().map(|answer| answer.clone().map(|(shown, _)| shown)).collect();
        all.map(|all| (ordinal, all.join("\n")))
    }

    /// Cancels the open ones of these calls, with everything below them.
    fn drops(&mut self, thread: &str, calls: &[String]) {
        let Some(here) = self.threads.get(thread) else { return };
        let is_meant =
            |path: &String| calls.iter().any(|call| path == call || path.starts_with(&format!("{call}/")));
        let dropped: Vec<String> = here.calls.keys().filter(|path| is_meant(path)).cloned().collect();
        for path in &dropped {
            let children = self.call(thread, path).map(Call::running).unwrap_or_default();
            for child in &children {
                self.cancels(child);
            }
            self.closed.insert((thread.to_owned(), path.clone(), "cancelled".to_owned()));
        }
        self.leaves_timers(thread, &dropped);
        let Some(here) = self.threads.get_mut(thread) else { return };
        here.calls.retain(|path, _| !dropped.contains(path));
    }
}
