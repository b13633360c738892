//! Calls to models, in the naive pump: the reserve before a call and what replaces it, the journal of an
//! attempt, and an attempt that is over while the outcome of its model call is unknown.

use std::collections::BTreeMap;

use super::budgets::{BudgetKind, Tally};
use super::{Naive, Payer};

/// Entries of one attempt.
const MOST_ENTRIES: usize = 64;

/// This many millionths of a currency.
pub(crate) type Amount = (u64, &'static str);

/// The currency of budgets.
pub(crate) const DOLLAR: &str = "USD";

/// An entry of a listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// A model is about to be called, for this much at most.
    Starts { tokens: Option<u64>, money: Option<Amount> },
    /// The use of a call.
    Ends { of: u64, tokens: Option<(u64, u64)>, money: Option<Amount> },
}

/// The entries of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// The number of entries of earlier attempts.
    pub(super) past: usize,
    /// The entries of this attempt, by number.
    pub(super) own: BTreeMap<u64, Written>,
}

impl Journal {
    /// The starts that wait for their results.
    pub(super) fn open(&self) -> Vec<u64> {
        let has_end =
            |id: u64| self.own.values().any(|entry| matches!(entry, Written::Ends { of, .. } if *of == id));
        let starts = self.own.iter().filter(|(_, entry)| matches!(entry, Written::Starts { .. }));
        starts.map(|(id, _)| *id).filter(|id| !has_end(*id)).collect()
    }

    /// The attempt is over, and another follows.
    pub(super) fn passes(&mut self) {
        self.past += std::mem::take(&mut self.own).len();
    }
}

fn refused(code: &str) -> String {
    format!("refused {code}")
}

impl Naive {
    /// A call writes an entry, which counts if its turn is due.
    pub(crate) fn writes(&mut self, thread: &str, path: &str, id: u64, entry: &Written) {
        let Some(call) = self.call(thread, path).filter(|c| c.is_ready()) else {
            return self.told = Some(refused("reply.stale-lease"));
        };
        let (journal, payer) = (call.journal.clone(), call.payer.clone());
        self.told = Some(match (journal.own.get(&id), entry) {
            (Some(known), _) if known == entry => "answered".to_owned(),
            (Some(_), _) => refused("payload.id-conflict"),
            (None, Written::Starts { tokens, money }) => {
                let is_full = journal.own.len() + journal.open().len() + 2 > MOST_ENTRIES;
                match self.is_foreign(&payer, *money) {
                    _ if is_full => refused("reply.too-many-items"),
                    true => refused("payload.invalid"),
                    false => self.starts((thread, path), &payer, *tokens, *money),
                }
            }
            (None, Written::Ends { of, .. }) if !journal.open().contains(of) => refused("payload.invalid"),
            (None, Written::Ends { money, .. }) if self.is_foreign(&payer, *money) => {
                refused("payload.invalid")
            }
            (None, Written::Ends { of, tokens, money }) => {
                let used = (tokens.map(|(read, wrote)| read + wrote), money.map(|(micros, _)| micros));
                self.ends((thread, path), &payer, *of, used);
                "answered".to_owned()
            }
        });
        if self.told.as_deref() == Some("answered") {
            let money = match entry {
                Written::Starts { money, .. } | Written::Ends { money, .. } => money,
            };
            money.iter().for_each(|(_, coin)| {
                self.coins.entry(payer.clone()).or_insert(coin);
            });
            self.call_mut(thread, path).into_iter().for_each(|call| {
                call.journal.own.entry(id).or_insert_with(|| entry.clone());
            });
        }
    }

    /// Whether money is in another currency than the budget's or, without a budget, than the first.
    fn is_foreign(&self, payer: &Payer, money: Option<Amount>) -> bool {
        let is_limited = self.limits.is_some_and(|limits| limits.money.is_some());
        let known = if is_limited { Some(&DOLLAR) } else { self.coins.get(payer) };
        money.is_some_and(|(_, coin)| known.is_some_and(|known| *known != coin))
    }

    /// A model is about to be called: there is room for its reserve, or the call may only answer.
    fn starts(
        &mut self,
        (thread, path): (&str, &str),
        payer: &Payer,
        tokens: Option<u64>,
        money: Option<Amount>,
    ) -> String {
        let wants = [(BudgetKind::Tokens, tokens), (BudgetKind::Money, money.map(|(micros, _)| micros))];
        // A party with one turn has no turn reserved for its last answer.
        let is_last =
            self.call(thread, path).is_some_and(|call| call.party.turns > 1 && call.is_in_last_turn());
        let is_full = |want: Option<u64>, limit: &Tally| match want {
            Some(want) => limit.is_passed() || limit.left().is_some_and(|left| want > left),
            // A call without a reserve is refused only when nothing is left.
            None => limit.left() == Some(0),
        };
        let is_passed = |_: Option<u64>, limit: &Tally| limit.is_passed();
        let levels = self.limits_above(thread, payer);
        // The nearest limit first, and tokens before money.
        let is_against = |is_full: fn(Option<u64>, &Tally) -> bool| {
            levels.iter().enumerate().find_map(|(place, level)| {
                let full =
                    |(of, want): &(BudgetKind, Option<u64>)| level.get(of).is_some_and(|t| is_full(*want, t));
                let (of, _) = wants.iter().find(|wants| full(wants))?;
                let stand = level.get(of).map(Tally::stand)?;
                Some((*of, stand, place + 1 == levels.len()))
            })
        };
        let full = is_against(is_full);
        let is_let_in = is_last && is_against(is_passed).is_none();
        if is_let_in && full.is_some() {
            self.met.insert("an answer beyond the limit".to_owned());
        }
        let against = full.filter(|_| !is_let_in);
        if let Some((of, stand, is_of_message)) = against {
            let whose = if is_of_message { "the message" } else { "a child" };
            self.met.insert(format!("{} of {whose} refused", of.word()));
            if self.call(thread, path).is_some_and(|call| !call.wraps_up()) {
                self.leaves_to_its_reply(thread, path, &format!("{} {stand}", of.word()));
            }
            return refused(&format!("budget.{}", of.word()));
        }
        for (of, want) in wants {
            self.uses(thread, payer, of, (want.unwrap_or(0), 0));
        }
        "answered".to_owned()
    }

    /// A model has answered: its use replaces the reserve, as far as it is known.
    fn ends(
        &mut self,
        (thread, path): (&str, &str),
        payer: &Payer,
        of: u64,
        (tokens, money): (Option<u64>, Option<u64>),
    ) {
        let start = self.call(thread, path).and_then(|call| call.journal.own.get(&of)).cloned();
        let Some(Written::Starts { tokens: kept, money: kept_money }) = start else { return };
        let kept_money = kept_money.map(|(micros, _)| micros);
        let all = [(BudgetKind::Tokens, kept, tokens), (BudgetKind::Money, kept_money, money)];
        for (of, kept, used) in all {
            let kept = kept.unwrap_or(0);
            let used = used.unwrap_or(kept);
            let how = match used.cmp(&kept) {
                std::cmp::Ordering::Less => "below",
                std::cmp::Ordering::Equal => "as",
                std::cmp::Ordering::Greater => "above",
            };
            self.met.insert(format!("{} settled {how} kept", of.word()));
            self.uses(thread, payer, of, (used, kept));
        }
        self.tells_what_is_left(thread, payer, &[BudgetKind::Tokens, BudgetKind::Money]);
    }

    /// The entries at the due turn of a call, by number.
    pub(crate) fn written(&self, thread: &str, path: &str) -> Vec<(u64, Written)> {
        let own = self.call(thread, path).map(|call| call.journal.own.clone()).unwrap_or_default();
        own.into_iter().collect()
    }

    /// The starts of the due turn of a call that wait for their results.
    pub(crate) fn open_starts(&self, thread: &str, path: &str) -> Vec<u64> {
        self.call(thread, path).map(|call| call.journal.open()).unwrap_or_default()
    }

    /// A call whose turn is due asks for the entries of its earlier attempts, from this one on.
    pub(crate) fn recalls(&mut self, thread: &str, path: &str, from: usize) {
        let call = self.call(thread, path).filter(|c| c.is_ready());
        let told = call.map(|call| format!("recalled {}", call.journal.past.saturating_sub(from)));
        self.told = Some(told.unwrap_or_else(|| refused("reply.stale-lease")));
    }
}
