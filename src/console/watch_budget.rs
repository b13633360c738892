//! What the pages that follow the log may cost. The processor time of their refreshes is counted, and the next event
//! waits until it is paid for by the time that passes, so that watching never takes much from a busy organism.
//!
//! Costs and moments come in; how long an event waits goes out. A quiet organism has no debt, so its pages are instant.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use crate::edges::clock::{WallClock, thread_worked};
use systole_core::types::ports::{Clock as _, Position};
use systole_core::types::time::Millis;

/// How long records are gathered into one event: often enough for a person.
const PACE: Duration = Duration::from_millis(150);
/// The share of one processor that refreshes may have: one part of that many.
const PARTS: u32 = 20;
/// What may be spent at once after a quiet time, as the time that pays for it.
const AHEAD: Duration = Duration::from_secs(1);

/// The longest wait: no burst of refreshes makes pages wait for longer.
const MOST: Duration = Duration::from_secs(15);

/// What was spent, as the moment at which time has paid for all of it; and the last position that pages were told of.
#[derive(Clone, Copy, Default, Debug)]
struct Account {
    paid_at: Duration,
    round: Option<(Duration, Position)>,
}

impl Account {
    fn spend(&mut self, cost: Duration, now: Duration) {
        let paid_at = self.paid_at.max(now).saturating_add(cost.saturating_mul(PARTS));
        self.paid_at = paid_at.min(now.saturating_add(AHEAD + MOST));
    }

    fn wait(&self, now: Duration) -> Duration {
        self.paid_at.saturating_sub(now.saturating_add(AHEAD))
    }

    /// The position of an event at a moment. Pages that are told within one pace are told of the same position, so that
    /// they can share what they ask for; a page that knows it already hears of the end.
    fn position(&mut self, told: Option<Position>, end: Position, now: Duration) -> Position {
        let recent = self.round.filter(|(began, _)| now.saturating_sub(*began) < PACE);
        match recent {
            Some((_, position)) if told.is_none_or(|told| told < position) => position,
            _ => {
                self.round = Some((now, end));
                end
            }
        }
    }
}

/// The account of all pages.
#[derive(Default)]
pub(super) struct WatchBudget(Mutex<Account>);

impl WatchBudget {
    /// Runs a refresh and counts its processor time on the threads that run it.
    pub(super) async fn counts<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut cost = Duration::ZERO;
        let made = poll_fn(|context| {
            let (spent, polled) = worked(|| work.as_mut().poll(context));
            cost += spent;
            polled
        })
        .await;
        self.spend(cost);
        made
    }

    /// The same for work that blocks its thread.
    pub(super) fn counts_here<T>(&self, work: impl FnOnce() -> T) -> T {
        let (spent, made) = worked(work);
        self.spend(spent);
        made
    }

    /// Waits until a page may be told again.
    pub(super) async fn turn(&self) {
        let mut wait = PACE;
        while !wait.is_zero() {
            sleep(wait).await;
            wait = self.account(|account| account.wait(now()));
        }
    }

    /// The position to tell a page, which knows another one or none.
    pub(super) fn position(&self, told: Option<Position>, end: Position) -> Position {
        self.account(|account| account.position(told, end, now()))
    }

    fn spend(&self, cost: Duration) {
        self.account(|account| account.spend(cost, now()));
    }

    fn account<T>(&self, work: impl FnOnce(&mut Account) -> T) -> T {
        // Every change is one step, so the account is valid even if the lock is poisoned.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn worked<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let before = thread_worked();
    let made = work();
    (thread_worked().saturating_sub(before), made)
}

fn now() -> Duration {
    let Millis(ticks) = WallClock.ticks();
    Duration::from_millis(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn h4_the_wait_grows_with_what_refreshes_cost_and_ends_when_time_has_paid() {
        let mut account = Account::default();
        account.spend(ms(10), ms(1_000));
        assert_eq!(account.wait(ms(1_000)), Duration::ZERO, "a small cost is paid ahead");
        for _ in 0..64 {
            account.spend(ms(10), ms(1_000));
        }
        // 65 refreshes of 10 ms at a twentieth of a processor are 13 seconds, of which one is ahead.
        assert_eq!(account.wait(ms(1_000)), ms(12_000));
        assert_eq!(account.wait(ms(9_000)), ms(4_000));
        assert_eq!(account.wait(ms(20_000)), Duration::ZERO);
        account.spend(ms(60_000), ms(30_000));
        assert_eq!(account.wait(ms(30_000)), MOST, "a burst has a bound");
        account.spend(ms(1), ms(90_000));
        assert_eq!(account.wait(ms(90_000)), Duration::ZERO, "a quiet time leaves no debt");
    }

    #[test]
    fn h4_twice_the_cost_is_twice_the_time_over_many_rounds() {
        let over = |cost: Duration| {
            let (mut account, mut at) = (Account::default(), Duration::ZERO);
            for _ in 0..100 {
                // Each is paid before the next, so the bound is never met.
                account.spend(cost, at);
                at += account.wait(at);
            }
            at
        };
        assert_eq!(over(ms(40)) + AHEAD, (over(ms(20)) + AHEAD) * 2);
    }

    #[test]
    fn h4_pages_that_are_told_together_are_told_the_same_and_none_misses_the_end() {
        let mut account = Account::default();
        let at = |account: &mut Account, told: Option<u64>, end, moment| {
            account.position(told.map(Position), Position(end), ms(moment)).0
        };
        assert_eq!(at(&mut account, None, 7, 1_000), 7);
        assert_eq!(at(&mut account, Some(5), 9, 1_020), 7, "within one pace all hear the same");
        assert_eq!(at(&mut account, Some(7), 9, 1_040), 9, "a page that knows it hears of the end");
        assert_eq!(at(&mut account, Some(7), 12, 1_300), 12, "later pages hear of the end");
    }

    #[tokio::test]
    async fn h4_the_processor_time_of_a_refresh_is_counted_on_each_of_its_threads() {
        let budget = WatchBudget::default();
        let busy = || (0..200_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        let before = now();
        budget.counts(async { busy() }).await;
        let first = budget.account(|account| account.paid_at);
        assert!(first > before, "the poll is counted");
        budget.counts_here(busy);
        assert!(budget.account(|account| account.paid_at) > first, "the blocking part is counted");
    }
}
