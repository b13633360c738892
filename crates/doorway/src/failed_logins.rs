//! Failed logins: counted by source, and reported at most once a minute each, so that a stranger can
//! neither fill the log nor go unnoticed. Pure: the caller passes the time.

use std::collections::HashMap;
use std::net::IpAddr;

use systole_core::types::time::Millis;

use crate::limits;

struct LoginSource {
    told: Millis,
    untold: u64,
}

/// The known sources.
#[derive(Default)]
pub struct FailedLoginCounts {
    sources: HashMap<IpAddr, LoginSource>,
}

/// A report to record: a source, and its count since the last report.
pub type LoginReport = (IpAddr, u64);

impl FailedLoginCounts {
    /// Counts one failed login, and returns the report to record, if one is due.
    pub fn record_failure(&mut self, source: IpAddr, now: Millis) -> Option<LoginReport> {
        let source = source.to_canonical();
        if self.sources.len() >= limits::FAILED_SOURCES && !self.sources.contains_key(&source) {
            self.sources
                .retain(|_, known| known.untold > 0 || now.count_since(known.told) < limits::FAILED_MS);
        }
        let full = self.sources.len() >= limits::FAILED_SOURCES && !self.sources.contains_key(&source);
        let source = if full { IpAddr::from([0, 0, 0, 0]) } else { source };
        let Some(known) = self.sources.get_mut(&source) else {
            self.sources.insert(source, LoginSource { told: now, untold: 0 });
            return Some((source, 1));
        };
        known.untold += 1;
        if now.count_since(known.told) < limits::FAILED_MS {
            return None;
        }
        known.told = now;
        Some((source, std::mem::take(&mut known.untold)))
    }

    /// The counts that were not reported yet, for the end.
    pub fn take_rest(&mut self) -> Vec<LoginReport> {
        let left = self.sources.drain().filter(|(_, known)| known.untold > 0);
        left.map(|(source, known)| (source, known.untold)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        std::net::Ipv4Addr::from(0x0a00_0000 + n).into()
    }

    #[test]
    fn a_source_is_told_at_once_then_once_a_minute_with_its_count() {
        let mut failed_logins = FailedLoginCounts::default();
        assert_eq!(failed_logins.record_failure(address(1), Millis(0)), Some((address(1), 1)));
        for n in 1..60 {
            assert_eq!(failed_logins.record_failure(address(1), Millis(n * 1_000)), None);
        }
        assert_eq!(
            failed_logins.record_failure(address(2), Millis(59_000)),
            Some((address(2), 1)),
            "sources are apart"
        );
        assert_eq!(failed_logins.record_failure(address(1), Millis(60_000)), Some((address(1), 60)));
        assert_eq!(failed_logins.record_failure(address(1), Millis(60_001)), None);
        assert_eq!(failed_logins.take_rest(), [(address(1), 1)]);
    }

    #[test]
    fn any_number_of_sources_takes_bounded_room_and_bounded_lines() {
        let mut failed_logins = FailedLoginCounts::default();
        let told = (0..10_000).filter_map(|n| failed_logins.record_failure(address(n), Millis(1))).count();
        assert!(
            told <= limits::FAILED_SOURCES + 1 && failed_logins.sources.len() <= limits::FAILED_SOURCES + 1,
            "{told}"
        );
        let later = Millis(limits::FAILED_MS + 2);
        assert_eq!(
            failed_logins.record_failure(address(20_000), later),
            Some((address(20_000), 1)),
            "room again"
        );
    }
}
