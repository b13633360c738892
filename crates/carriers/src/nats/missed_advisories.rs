//! What the broker said about silent workers while this pump did not hear it: before it subscribed, or while its
//! connection was broken. The broker says each word only once, and keeps it in a stream. What it says right after it
//! was away itself is no proof: no worker could reach it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::places::DeliveryPlace;
use crate::limits;
use systole_bus::{Broker, WorkerSilence};
use systole_core::types::ids::Name;
use systole_core::types::time::Millis;
use systole_system::watched::read_watched;

/// What there is to ask for.
pub(super) struct UnheardSilences {
    asking: Mutex<SilenceAsking>,
}

struct SilenceAsking {
    /// How often the connection had broken when that was last looked at.
    breaks: u64,
    /// How many looks still ask.
    looks: u8,
    /// Everything that the broker said before this time of its own is known.
    since: Option<Millis>,
    /// When the server, which was started anew, was seen to be back, by its own time.
    back: Option<Millis>,
}

impl UnheardSilences {
    /// For a pump that subscribed on the connection after that many breaks, and found these deliveries.
    pub(super) fn new(breaks: u64, found: &[(Arc<str>, DeliveryPlace)]) -> UnheardSilences {
        let since = found.iter().filter_map(|(_, place)| place.read_time()).min();
        let looks = if found.is_empty() { 0 } else { limits::UNHEARD_LOOKS };
        UnheardSilences { asking: Mutex::new(SilenceAsking { breaks, looks, since, back: None }) }
    }

    fn lock_asking(&self) -> MutexGuard<'_, SilenceAsking> {
        // Every change of it is complete before anything can panic.
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server was started anew, and has been seen at that time of its own.
    pub(super) fn server_is_back(&self, now: Option<Millis>) {
        self.lock_asking().back = now;
    }

    /// Whether the broker may have said that only because no worker could reach it while it was away.
    pub(super) fn was_away(&self, said: Millis) -> bool {
        self.lock_asking().back.is_some_and(|back| said <= back.add_ms(limits::BROKER_BACK_MS))
    }

    /// What the broker may have said unheard. It is asked only after a start and a break. `now` is its time.
    pub(super) async fn list(
        &self,
        broker: &Broker,
        listener: &Name,
        now: Option<Millis>,
    ) -> Vec<WorkerSilence> {
        let breaks = read_watched(&broker.watch_link()).breaks;
        let since = {
            let mut asking = self.lock_asking();
            if asking.breaks != breaks {
                (asking.breaks, asking.looks) = (breaks, limits::UNHEARD_LOOKS);
            }
            if asking.looks == 0 {
                asking.since = now.map(|now| Millis(now.0.saturating_sub(limits::WORD_ON_ITS_WAY_MS)));
                return Vec::new();
            }
            asking.since
        };
        match broker.list_silences(listener, since).await {
            Ok(said) => {
                self.lock_asking().looks -= 1;
                said
            }
            Err(why) => {
                tracing::debug!(%listener, %why, "it is not known yet which workers died");
                Vec::new()
            }
        }
    }
}
