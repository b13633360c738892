//! Wrong tokens at the page to sign in: an address has a few at once, and then one more from time to time. Pure: the
//! caller passes the time.

use std::collections::HashMap;
use std::net::IpAddr;

use systole_core::types::time::Millis;

use crate::limits;

/// The wrong tokens of each address, as the time at which they are forgotten.
#[derive(Default)]
pub struct SignInGuesses {
    sources: HashMap<IpAddr, Millis>,
}

impl SignInGuesses {
    /// How long an address waits until it may try a token again; `None` if it may now.
    pub fn find_wait_ms(&self, source: IpAddr, now: Millis) -> Option<u64> {
        let forgotten = self.sources.get(&self.find_key(source))?;
        let most = limits::GUESSES_AT_ONCE * limits::GUESS_MS;
        let wait = (forgotten.count_since(now) + limits::GUESS_MS).saturating_sub(most);
        (wait > 0).then_some(wait)
    }

    /// Counts a wrong token.
    pub fn record_guess(&mut self, source: IpAddr, now: Millis) {
        self.sources.retain(|_, forgotten| *forgotten > now);
        let forgotten = self.sources.entry(self.find_key(source)).or_insert(now);
        *forgotten = (*forgotten).max(now).add_ms(limits::GUESS_MS);
    }

    /// The address that counts: with too many of them, the rest share one.
    fn find_key(&self, source: IpAddr) -> IpAddr {
        let source = source.to_canonical();
        let is_full = self.sources.len() >= limits::FAILED_SOURCES && !self.sources.contains_key(&source);
        if is_full { IpAddr::from([0, 0, 0, 0]) } else { source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        std::net::Ipv4Addr::from(0x0a00_0000 + n).into()
    }

    /// How many of a thousand tries in that time are looked at.
    fn count_guesses(guesses: &mut SignInGuesses, source: IpAddr, from: u64, until: u64) -> u64 {
        let times = (0..1000).map(|n| Millis(from + (until - from) * n / 1000));
        let mut count = 0;
        for now in times {
            if guesses.find_wait_ms(source, now).is_none() {
                guesses.record_guess(source, now);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn h4_an_address_has_few_guesses_at_once_and_then_few_in_an_hour() {
        let mut guesses = SignInGuesses::default();
        let most = limits::GUESSES_AT_ONCE;
        assert_eq!(count_guesses(&mut guesses, address(1), 0, 1), most);
        assert_eq!(guesses.find_wait_ms(address(1), Millis(0)), Some(limits::GUESS_MS));
        assert_eq!(guesses.find_wait_ms(address(1), Millis(limits::GUESS_MS - 1)), Some(1));
        assert_eq!(guesses.find_wait_ms(address(2), Millis(0)), None, "addresses are apart");
        let hour = 60 * 60 * 1000;
        let tried = count_guesses(&mut guesses, address(1), 0, hour);
        assert!(tried <= hour / limits::GUESS_MS, "{tried}");
        assert_eq!(count_guesses(&mut guesses, address(1), 3 * hour, 3 * hour + 1), most, "it is forgotten");
    }

    #[test]
    fn h4_many_addresses_have_bounded_room_and_bounded_guesses() {
        let mut guesses = SignInGuesses::default();
        let tried: u64 = (0..1_000).map(|n| count_guesses(&mut guesses, address(n), 0, 1)).sum();
        let most = (limits::FAILED_SOURCES as u64 + 1) * limits::GUESSES_AT_ONCE;
        assert!(tried <= most && guesses.sources.len() <= limits::FAILED_SOURCES + 1, "{tried}");
        let later = Millis(limits::GUESSES_AT_ONCE * limits::GUESS_MS + 1);
        guesses.record_guess(address(20_000), later);
        assert_eq!(guesses.sources.len(), 1, "room again");
    }
}
