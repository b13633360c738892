//! What an operator should know about a running organism, as JSON: alarms of its log, and how its followers fare.

use serde::{Deserialize, Serialize};

use systole_core::types::time::{Millis, spell_duration};
use systole_follow::FollowerStatus;
use systole_log::alarms::LogAlarm;
use systole_organism::front::OrganismHandle;
use systole_show::layout;

/// The followers of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedFollowers {
    /// In the order of the file.
    pub followers: Vec<FollowerStatus>,
}

/// What keeps the log from being written as it should.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApiAlarm {
    /// What happens, where, and the consequence.
    pub words: String,
    /// The fix.
    #[serde(rename = "try")]
    pub fix: String,
    /// When it began.
    pub since: String,
    /// When it ended; `None` if it lasts.
    pub until: Option<String>,
    /// The follower that is behind or stopped, if it is about one and not about writing the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follower: Option<String>,
}

impl ApiAlarm {
    /// All alarms of an organism.
    pub(super) fn list_all(front: &OrganismHandle) -> Vec<ApiAlarm> {
        let of_log = front.alarms().into_iter().map(ApiAlarm::from_alarm);
        of_log.chain(front.followers().into_iter().filter_map(ApiAlarm::from_follower)).collect()
    }

    fn from_alarm(alarm: LogAlarm) -> ApiAlarm {
        let LogAlarm { words, fix, since, until, .. } = alarm;
        let until = until.map(|until| until.to_string());
        ApiAlarm { words, fix: fix.to_owned(), since: since.to_string(), until, follower: None }
    }

    fn from_follower(status: FollowerStatus) -> Option<ApiAlarm> {
        let (words, fix) = status.describe_trouble()?;
        let since = status.since.unwrap_or_default();
        Some(ApiAlarm { words, fix, since, until: None, follower: Some(status.name) })
    }

    /// Whether it lasts.
    pub fn lasts(&self) -> bool {
        self.until.is_none()
    }

    /// Its words, with its time for a reader at `now`.
    pub fn sentence(&self, now: Millis) -> String {
        let ApiAlarm { words, since, until, .. } = self;
        let since = Millis::parse(since).unwrap_or_default();
        let from = layout::moment(since, now);
        match until.as_deref().and_then(Millis::parse) {
            None => format!("{words} (since {from}, for {})", spell_duration(now.count_since(since))),
            Some(until) => {
                format!("{words} (from {from}, for {}; it is over)", spell_duration(until.count_since(since)))
            }
        }
    }
}
