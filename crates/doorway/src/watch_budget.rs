//! What the pages that follow the log may cost. The processor time of their refreshes is counted, and the next event
//! waits until it is paid for by the time that passes, so that watching never takes much from a busy organism. A client
//! whose refreshes cost much waits for them alone.
//!
//! Costs and moments come in; how long an event waits goes out. A quiet organism has no debt, so its pages are instant.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, Position};
use systole_core::types::time::Millis;
use systole_system::clock::{WallClock, read_thread_time};

use crate::limits;

/// What each client spent, as the moment at which time has paid for all of it; and the last position that pages were
/// told of. Clients share the time that pays, and none waits for what another one spent.
#[derive(Clone, Default, Debug)]
struct Accounts {
    paid_at: BTreeMap<Name, Duration>,
    round: Option<(Duration, Position)>,
}

impl Accounts {
    fn spend_time(&mut self, client: &Name, cost: Duration, now: Duration) {
        self.paid_at.retain(|_, paid_at| *paid_at > now);
        let own = self.paid_at.entry(client.clone()).or_insert(now);
        let own = *own;
        let sharers = u32::try_from(self.paid_at.len()).unwrap_or(u32::MAX);
        let price = cost.saturating_mul(limits::REFRESH_SHARE.saturating_mul(sharers));
        let paid_at =
            own.saturating_add(price).min(now.saturating_add(limits::REFRESH_AHEAD + limits::QUIET));
        self.paid_at.insert(client.clone(), paid_at);
    }

    fn measure_wait(&self, client: &Name, now: Duration) -> Duration {
        let paid_at = self.paid_at.get(client).copied().unwrap_or_default();
        paid_at.saturating_sub(now.saturating_add(limits::REFRESH_AHEAD))
    }

    /// The position of an event at a moment. Pages that are told within one pace are told of the same position, so that
    /// they can share what they ask for; a page that knows it already hears of the end.
    fn choose_position(&mut self, told: Option<Position>, end: Position, now: Duration) -> Position {
        let recent = self.round.filter(|(began, _)| now.saturating_sub(*began) < limits::PAGE_PACE);
        match recent {
            Some((_, position)) if told.is_none_or(|told| told < position) => position,
            _ => {
                self.round = Some((now, end));
                end
            }
        }
    }
}

/// The accounts of all pages.
#[derive(Default)]
pub struct WatchBudget(Mutex<Accounts>);

impl WatchBudget {
    /// Runs a refresh of a client and counts its processor time on the threads that run it.
    pub async fn count_time<T>(&self, client: &Name, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut cost = Duration::ZERO;
        let made = poll_fn(|context| {
            let (spent, polled) = measure_work(|| work.as_mut().poll(context));
            cost += spent;
            polled
        })
        .await;
        self.spend_time(client, cost);
        made
    }

    /// The same for work that blocks its thread.
    pub fn counts_here<T>(&self, client: &Name, work: impl FnOnce() -> T) -> T {
        let (spent, made) = measure_work(work);
        self.spend_time(client, spent);
        made
    }

    /// Waits until a page of a client may be told again.
    pub async fn wait_for_turn(&self, client: &Name) {
        let mut wait = limits::PAGE_PACE;
        while !wait.is_zero() {
            sleep(wait).await;
            wait = self.with_accounts(|accounts| accounts.measure_wait(client, read_clock()));
        }
    }

    /// The position to tell a page, which knows another one or none.
    pub fn choose_position(&self, told: Option<Position>, end: Position) -> Position {
        self.with_accounts(|accounts| accounts.choose_position(told, end, read_clock()))
    }

    fn spend_time(&self, client: &Name, cost: Duration) {
        self.with_accounts(|accounts| accounts.spend_time(client, cost, read_clock()));
    }

    fn with_accounts<T>(&self, work: impl FnOnce(&mut Accounts) -> T) -> T {
        // The accounts are valid after every step, so they are even if the lock is poisoned.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn measure_work<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let before = read_thread_time();
    let made = work();
    (read_thread_time().saturating_sub(before), made)
}

fn read_clock() -> Duration {
    let Millis(ticks) = WallClock.ticks();
    Duration::from_millis(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn alice() -> Name {
        Name::parse("alice").unwrap()
    }

    #[test]
    fn h4_the_wait_grows_with_what_refreshes_cost_and_ends_when_time_has_paid() {
        let (mut accounts, alice) = (Accounts::default(), alice());
        accounts.spend_time(&alice, ms(10), ms(1_000));
        assert_eq!(accounts.measure_wait(&alice, ms(1_000)), Duration::ZERO, "a small cost is paid ahead");
        for _ in 0..64 {
            accounts.spend_time(&alice, ms(10), ms(1_000));
        }
        // 65 refreshes of 10 ms at a twentieth of a processor are 13 seconds, of which one is ahead.
        assert_eq!(accounts.measure_wait(&alice, ms(1_000)), ms(12_000));
        assert_eq!(accounts.measure_wait(&alice, ms(9_000)), ms(4_000));
        assert_eq!(accounts.measure_wait(&alice, ms(20_000)), Duration::ZERO);
        accounts.spend_time(&alice, ms(60_000), ms(30_000));
        assert_eq!(accounts.measure_wait(&alice, ms(30_000)), limits::QUIET, "a burst has a bound");
        accounts.spend_time(&alice, ms(1), ms(90_000));
        assert_eq!(accounts.measure_wait(&alice, ms(90_000)), Duration::ZERO, "a quiet time leaves no debt");
    }

    #[test]
    fn h4_a_client_that_spends_much_makes_only_its_own_pages_wait() {
        let (mut accounts, alice, bob) = (Accounts::default(), alice(), Name::parse("bob").unwrap());
        accounts.spend_time(&bob, ms(60_000), ms(1_000));
        assert_eq!(accounts.measure_wait(&bob, ms(1_000)), limits::QUIET);
        assert_eq!(accounts.measure_wait(&alice, ms(1_000)), Duration::ZERO);
        // While both spend, each has half of the time: together they take no more than one client alone.
        accounts.spend_time(&alice, ms(100), ms(1_000));
        assert_eq!(accounts.measure_wait(&alice, ms(1_000)), ms(3_000));
        accounts.spend_time(&alice, ms(100), ms(60_000));
        assert_eq!(accounts.measure_wait(&alice, ms(60_000)), ms(1_000), "who has paid shares nothing");
    }

    #[test]
    fn h4_twice_the_cost_is_twice_the_time_over_many_rounds() {
        let over = |cost: Duration| {
            let (mut accounts, mut at, alice) = (Accounts::default(), Duration::ZERO, alice());
            for _ in 0..100 {
                // Each is paid before the next, so the bound is never met.
                accounts.spend_time(&alice, cost, at);
                at += accounts.measure_wait(&alice, at);
            }
            at
        };
        assert_eq!(over(ms(40)) + limits::REFRESH_AHEAD, (over(ms(20)) + limits::REFRESH_AHEAD) * 2);
    }

    #[test]
    fn h4_pages_that_are_told_together_are_told_the_same_and_none_misses_the_end() {
        let mut accounts = Accounts::default();
        let at = |accounts: &mut Accounts, told: Option<u64>, end, moment| {
            accounts.choose_position(told.map(Position), Position(end), ms(moment)).0
        };
        assert_eq!(at(&mut accounts, None, 7, 1_000), 7);
        assert_eq!(at(&mut accounts, Some(5), 9, 1_020), 7, "within one pace all hear the same");
        assert_eq!(at(&mut accounts, Some(7), 9, 1_040), 9, "a page that knows it hears of the end");
        assert_eq!(at(&mut accounts, Some(7), 12, 1_300), 12, "later pages hear of the end");
    }

    #[tokio::test]
    async fn h4_the_processor_time_of_a_refresh_is_counted_on_each_of_its_threads() {
        let (budget, alice) = (WatchBudget::default(), alice());
        let busy = || (0..200_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        let paid_at = || budget.with_accounts(|accounts| accounts.paid_at.get(&alice).copied());
        budget.count_time(&alice, async { busy() }).await;
        let first = paid_at();
        assert!(first.is_some(), "the poll is counted");
        budget.counts_here(&alice, busy);
        assert!(paid_at() > first, "the blocking part is counted");
    }
}
