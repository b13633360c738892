//! Time and randomness of the machine. The only file that reads a clock or draws random bytes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use crate::words::ports::{Clock, Seed, Seeds};
use crate::words::time::Millis;

/// The machine's clocks: the one on the wall, and the one that only counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct WallClock;

/// Where ticks are counted from: the first time that anybody asked.
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

/// Seeds from one secret of the kernel's and a counter: as hard to guess, without a system call each.
pub struct KernelSeeds {
    secret: [u8; 32],
    drawn: AtomicU64,
}

impl KernelSeeds {
    /// Draws the secret.
    pub fn new() -> std::io::Result<KernelSeeds> {
        Ok(KernelSeeds { secret: random_bytes()?, drawn: AtomicU64::new(0) })
    }
}

impl Seeds for KernelSeeds {
    fn draw(&self) -> Seed {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let hash: [u8; 32] = Sha256::new().chain_update(self.secret).chain_update(number).finalize().into();
        let mut seed = [0; 16];
        seed.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Seed(seed)
    }
}

/// Random bytes of the kernel's.
pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
