//! What a message from outside may use, in the naive pump: calls, spawns, children, tokens and money, counted
//! over its whole tree, and the ceiling of each child. Counts of calls and children only go up; of the
//! reserve for a model, the rest is given back.

use std::collections::BTreeMap;

use super::{Call, Loops, Naive, Thrown};

/// What one message from outside may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) messages: u64,
    pub(crate) children: u64,
    /// How deep calls and spawns may be nested, including the first.
    pub(crate) depth: usize,
    pub(crate) tokens: Option<u64>,
    /// In millionths of a dollar.
    pub(crate) money: Option<u64>,
    /// In milliseconds.
    pub(crate) wall: Option<u64>,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum BudgetKind {
    Messages,
    Children,
    Tokens,
    Money,
}

impl BudgetKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            BudgetKind::Messages => "messages",
            BudgetKind::Children => "children",
            BudgetKind::Tokens => "tokens",
            BudgetKind::Money => "money",
        }
    }
}

/// Of what is left, the percentage that a child may use.
pub(crate) const SHARE_PERCENT: u64 = 50;

/// Whose budget pays: the root, and its top call that the message opened.
pub(crate) type Payer = (String, String);

/// How much of a limit is used, and whether the calls under it were warned that it is most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    used: u64,
    /// None if it is only counted.
    limit: Option<u64>,
    is_told: bool,
}

/// The tallies of one message, or of one child.
pub(super) type Tallies = BTreeMap<BudgetKind, Tally>;

impl Tally {
    fn of(limit: Option<u64>) -> Tally {
        Tally { limit, ..Tally::default() }
    }

    /// How much is left, if there is a limit.
    pub(super) fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.used))
    }

    /// Whether more is used or reserved than there is.
    pub(super) fn is_passed(&self) -> bool {
        self.limit.is_some_and(|limit| self.used > limit)
    }

    /// Its state as text.
    pub(super) fn stand(&self) -> String {
        format!("{}/{}", self.used, self.limit.unwrap_or_default())
    }

    /// Its state as text, if it must be reported.
    fn news(&mut self) -> Option<String> {
        let limit = self.limit?;
        let is_news = !self.is_told && self.used * 5 >= limit * 4;
        self.is_told |= is_news;
        is_news.then(|| self.stand())
    }
}

/// A thread and all above it, the nearest first.
pub(super) fn upwards(thread: &str) -> Vec<&str> {
    std::iter::successors(Some(thread), |id| id.rsplit_once('.').map(|(parent, _)| parent)).collect()
}

impl Naive {
    pub(crate) fn under(limits: Option<Limits>, loops: Option<Loops>) -> Naive {
        Naive { limits, loops, ..Naive::default() }
    }

    /// A message from outside opens a top call with a budget.
    pub(super) fn opens_budget(&mut self, thread: &str, top: &str, is_first: bool) {
        let Some(limits) = self.limits else { return };
        let all = [
            (BudgetKind::Messages, Some(limits.messages)),
            (BudgetKind::Children, Some(limits.children)),
            (BudgetKind::Tokens, limits.tokens),
            (BudgetKind::Money, limits.money),
        ];
        let tallies = all.into_iter().map(|(of, limit)| (of, Tally::of(limit)));
        let payer = (thread.to_owned(), top.to_owned());
        self.budget_uses.insert(payer.clone(), tallies.collect());
        if let Some(wall) = limits.wall {
            self.winds_clock(payer, wall, is_first);
        }
    }

    /// The limits of a call in a thread, the nearest first.
    pub(super) fn limits_above(&self, thread: &str, payer: &Payer) -> Vec<&Tallies> {
        let ceilings = upwards(thread).into_iter().filter_map(|id| self.threads.get(id));
        ceilings.map(|here| &here.ceiling).chain(self.budget_uses.get(payer)).collect()
    }

    /// How much a call of a thread may still use; none if that is not limited.
    pub(crate) fn left(&self, thread: &str, payer: &Payer, of: BudgetKind) -> Option<u64> {
        let limits = self.limits_above(thread, payer);
        limits.into_iter().filter_map(|tallies| tallies.get(&of)).filter_map(Tally::left).min()
    }

    /// The state of the nearest exhausted message limit.
    pub(super) fn messages_at_their_end(&self, thread: &str, payer: &Payer) -> Option<String> {
        let limits = self.limits_above(thread, payer).into_iter();
        let mut limits = limits.filter_map(|tallies| tallies.get(&BudgetKind::Messages));
        limits.find(|tally| tally.left() == Some(0)).map(Tally::stand)
    }

    /// The limit that refuses an item with calls or a spawn.
    pub(super) fn exceeds(&self, thread: &str, payer: &Payer, item: &Thrown) -> Option<&'static str> {
        let (wants, spawns) = match item {
            Thrown::Cast(takers, ..) => (takers.len() as u64, false),
            item => (1, matches!(item, Thrown::Spawn(..))),
        };
        if self.left(thread, payer, BudgetKind::Messages).is_some_and(|left| left < wants) {
            return Some("budget.messages");
        }
        let is_full = self.left(thread, payer, BudgetKind::Children) == Some(0);
        (spawns && is_full).then_some("budget.children")
    }

    /// Adds a use and returns part of a reserve, in a thread and above.
    pub(super) fn uses(&mut self, thread: &str, payer: &Payer, of: BudgetKind, (used, back): (u64, u64)) {
        for id in upwards(thread) {
            let Some(here) = self.threads.get_mut(id) else { continue };
            let all = here.used.entry(of).or_default();
            *all = *all + used - back;
            if let Some(tally) = here.ceiling.get_mut(&of) {
                tally.used = tally.used + used - back;
            }
        }
        if let Some(tally) = self.budget_uses.get_mut(payer).and_then(|tallies| tallies.get_mut(&of)) {
            tally.used = tally.used + used - back;
        }
    }

    /// Warns every call under a limit that is now mostly used, with the nearest limit first.
    pub(super) fn tells_what_is_left(&mut self, thread: &str, payer: &Payer, sorts: &[BudgetKind]) {
        for id in upwards(thread) {
            for of in sorts {
                let ceiling = self.threads.get_mut(id).and_then(|here| here.ceiling.get_mut(of));
                if let Some(stand) = ceiling.and_then(Tally::news) {
                    self.warns(&format!("{} {stand}", of.word()), |at, _| upwards(at).contains(&id));
                }
            }
        }
        for of in sorts {
            let budget_use = self.budget_uses.get_mut(payer).and_then(|tallies| tallies.get_mut(of));
            if let Some(stand) = budget_use.and_then(Tally::news) {
                self.warns(&format!("{} {stand}", of.word()), |_, call| call.payer == *payer);
            }
        }
    }

    /// Pays for calls that begin together, or for a spawn. A child gets its ceiling from what is left.
    pub(super) fn pays(&mut self, thread: &str, payer: &Payer, calls: u64, child: Option<&str>) {
        self.uses(thread, payer, BudgetKind::Messages, (calls, 0));
        if child.is_some() {
            self.uses(thread, payer, BudgetKind::Children, (1, 0));
        }
        self.tells_what_is_left(thread, payer, &[BudgetKind::Messages, BudgetKind::Children]);
        let Some(child) = child else { return };
        for of in [BudgetKind::Messages, BudgetKind::Tokens, BudgetKind::Money] {
            let Some(left) = self.left(thread, payer, of) else { continue };
            let ceiling = Tally::of(Some(left * SHARE_PERCENT / 100));
            self.threads.entry(child.to_owned()).or_default().ceiling.insert(of, ceiling);
        }
    }

    /// What a child may use, as its parent sees it.
    pub(super) fn ceiling_of(&self, child: &str) -> String {
        let tallies = self.threads.get(child).map(|here| here.ceiling.clone()).unwrap_or_default();
        let limit = |of| tallies.get(&of).and_then(|tally| tally.limit);
        let told = |of| limit(of).map_or_else(|| "-".to_owned(), |limit| limit.to_string());
        [BudgetKind::Messages, BudgetKind::Tokens, BudgetKind::Money].map(told).join("/")
    }

    /// What a child and everything below it used, as its parent sees it.
    pub(super) fn used_by(&self, child: &str) -> String {
        let used = self.threads.get(child).map(|here| here.used.clone()).unwrap_or_default();
        let told = |of| used.get(&of).copied().unwrap_or_default().to_string();
        [BudgetKind::Messages, BudgetKind::Children, BudgetKind::Tokens, BudgetKind::Money]
            .map(told)
            .join("/")
    }

    /// The use of each message that is still at work.
    pub(crate) fn used(&self) -> Vec<(Payer, String)> {
        let is_open = |payer: &Payer| self.open_calls(payer).next().is_some();
        let open = self.budget_uses.iter().filter(|(payer, _)| is_open(payer));
        let told = |tallies: &Tallies, of| tallies.get(&of).map_or(0, |tally: &Tally| tally.used);
        let sorts = [BudgetKind::Messages, BudgetKind::Children, BudgetKind::Tokens, BudgetKind::Money];
        let all = |tallies| sorts.map(|of| told(tallies, of).to_string()).join("/");
        open.map(|(payer, tallies)| (payer.clone(), all(tallies))).collect()
    }

    /// Warns every open call under a limit whose listener has more than one turn.
    pub(super) fn warns(&mut self, what: &str, is_under: impl Fn(&str, &Call) -> bool) {
        let mut told = Vec::new();
        for (id, here) in &mut self.threads {
            for (path, call) in &mut here.calls {
                if call.party.turns > 1 && is_under(id, call) {
                    call.waiting.push((usize::MAX, format!("budget-warning {what}")));
                    told.push((id.clone(), path.clone()));
                }
            }
        }
        told.iter().for_each(|(id, path)| self.heard(id, path));
    }
}
