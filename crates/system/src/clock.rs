//! The machine's time and randomness. This is the only file that reads a clock or draws random bytes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use systole_core::types::ports::{Clock, Seed, Seeds};
use systole_core::types::time::Millis;

/// The machine's clocks: the wall clock, and the monotonic clock.
#[derive(Clone, Copy, Default, Debug)]
pub struct WallClock;

/// The start of the tick count: the first call that asked for ticks.
static BEGAN: OnceLock<Instant> = OnceLock::new();

impl Clock for WallClock {
    fn now(&self) -> Millis {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn ticks(&self) -> Millis {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let began = BEGAN.get_or_init(Instant::now);
        Millis(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// The processor time of the calling thread so far.
pub fn read_thread_time() -> Duration {
    let worked = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(worked.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(worked.tv_nsec).unwrap_or_default())
}

/// The machine's clocks with skipped time: a test moves the time forward while everything only waits.
#[derive(Debug)]
pub struct SkippingClock {
    /// The wall clock and the ticks when it was made. From then on both move together, to the
    /// millisecond.
    began: (Millis, Millis),
    skipped: watch::Sender<u64>,
    sleepers: Mutex<BTreeMap<u64, Millis>>,
    /// Counts the sleepers that began or stopped.
    changes: watch::Sender<u64>,
}

impl Default for SkippingClock {
    fn default() -> SkippingClock {
        let (skipped, changes) = (watch::Sender::new(0), watch::Sender::new(0));
        let began = (WallClock.now(), WallClock.ticks());
        SkippingClock { began, skipped, sleepers: Mutex::default(), changes }
    }
}

impl Clock for SkippingClock {
    fn now(&self) -> Millis {
        let (wall, ticks) = self.began;
        wall.add_ms(self.ticks().count_since(ticks))
    }

    fn ticks(&self) -> Millis {
        WallClock.ticks().add_ms(*self.skipped.borrow())
    }
}

impl SkippingClock {
    /// Skips the time until that tick; does nothing if the tick has passed.
    pub fn skip_to(&self, tick: Millis) {
        let more = tick.count_since(self.ticks());
        if more > 0 {
            self.skipped.send_modify(|skipped| *skipped = skipped.saturating_add(more));
        }
    }

    /// How many tasks sleep here, and when the first of them wakes.
    pub fn count_sleepers(&self) -> (usize, Option<Millis>) {
        let sleepers = self.lock_asleep();
        (sleepers.len(), sleepers.values().min().copied())
    }

    /// Changes whenever a sleeper begins or stops.
    pub fn watch_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn lock_asleep(&self) -> MutexGuard<'_, BTreeMap<u64, Millis>> {
        // Every change is one step, so the map is valid even if the lock is poisoned.
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until this much time has passed or was skipped.
    pub async fn sleep_for(&self, pause: Duration) {
        let until = self.ticks().add_ms(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
        let mut skipped = self.skipped.subscribe();
        let mut number = 0;
        self.changes.send_modify(|changes| {
            *changes += 1;
            number = *changes;
        });
        self.lock_asleep().insert(number, until);
        let _awake = AwakeGuard { clock: self, number };
        self.changes.send_modify(|changes| *changes += 1);
        loop {
            let left = until.count_since(self.ticks());
            if left == 0 {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(left)) => {}
                // The clock outlives this call, so the channel is open.
                _ = skipped.changed() => {}
            }
        }
    }
}

/// Removes a sleeper from the list, even if it was dropped.
struct AwakeGuard<'c> {
    clock: &'c SkippingClock,
    number: u64,
}

impl Drop for AwakeGuard<'_> {
    fn drop(&mut self) {
        self.clock.lock_asleep().remove(&self.number);
        self.clock.changes.send_modify(|changes| *changes += 1);
    }
}

/// Seeds from one kernel secret and a counter: as hard to guess as kernel random bytes, without a
/// system call for each.
pub struct KernelSeeds {
    secret: [u8; 32],
    drawn: AtomicU64,
}

impl KernelSeeds {
    /// Draws the secret.
    pub fn new() -> std::io::Result<KernelSeeds> {
        Ok(KernelSeeds { secret: draw_random_bytes()?, drawn: AtomicU64::new(0) })
    }
}

impl Seeds for KernelSeeds {
    fn draw_seed(&self) -> Seed {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let hash: [u8; 32] = Sha256::new().chain_update(self.secret).chain_update(number).finalize().into();
        let mut seed = [0; 16];
        seed.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Seed(seed)
    }
}

/// Random bytes from the kernel.
pub fn draw_random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
