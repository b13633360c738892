//! How the followers of a running organism fare, for those who ask.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, Position};
use systole_core::types::time::Millis;
use systole_system::clock::WallClock;

use crate::settings::FollowerSettings;

/// How a follower fares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FollowerState {
    /// It sends what happens.
    Follows,
    /// The same, and it has been behind the log for five minutes.
    Behind,
    /// A person has to say where it goes on.
    Stopped,
    /// No organism runs.
    Waits,
}

impl FollowerState {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            FollowerState::Follows => "follows",
            FollowerState::Behind => "behind",
            FollowerState::Stopped => "stopped",
            FollowerState::Waits => "waits",
        }
    }
}

/// A follower and how it fares.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FollowerStatus {
    /// Its name.
    pub name: String,
    /// Where it posts, without the path.
    pub to: String,
    /// The events that it sends, or `traces`.
    pub on: Vec<String>,
    /// How it fares.
    pub state: FollowerState,
    /// The last position that its receiver has, or that it does not send. `None` if that is not known.
    pub position: Option<u64>,
    /// How many records are after it.
    pub behind: Option<u64>,
    /// Why the last try failed, or why it is stopped.
    pub error: Option<String>,
    /// Since when.
    pub since: Option<String>,
}

impl FollowerStatus {
    /// A follower at a position of a log that ends there.
    pub fn new(
        settings: &FollowerSettings,
        state: FollowerState,
        position: Option<Position>,
        last: Position,
    ) -> FollowerStatus {
        FollowerStatus {
            name: settings.name.to_string(),
            to: settings.to.to_string(),
            on: settings.sends.list_words().into_iter().map(str::to_owned).collect(),
            state,
            position: position.map(|position| position.0),
            behind: position.map(|position| last.0.saturating_sub(position.0)),
            error: None,
            since: None,
        }
    }

    /// What is wrong with it and the fix, if it is behind or stopped.
    pub fn describe_trouble(&self) -> Option<(String, String)> {
        let (name, error) = (&self.name, self.error.as_deref().unwrap_or("its receiver is slow"));
        match self.state {
            FollowerState::Behind => {
                let behind = self.behind.unwrap_or_default();
                let words = format!("the follower {name} is behind by {behind} records: {error}");
                Some((words, "its receiver, so that it takes events; it goes on by itself".to_owned()))
            }
            FollowerState::Stopped => Some((
                format!("the follower {name} is stopped: {error}"),
                format!("systole follow {name} --from POSITION, or --from now"),
            )),
            FollowerState::Follows | FollowerState::Waits => None,
        }
    }
}

/// What a follower's task says about itself.
#[derive(Clone, Default)]
pub(crate) struct TaskState {
    pub(crate) position: Option<Position>,
    /// Since when it has been behind for too long.
    pub(crate) behind: Option<Millis>,
    pub(crate) is_stopped: bool,
    pub(crate) error: Option<(String, Millis)>,
}

impl TaskState {
    /// Notes why a try failed. The first word of an error is said on the screen too.
    pub(crate) fn note_error(&mut self, follower: &Name, words: String) {
        let since = match &self.error {
            Some((_, since)) => *since,
            None => {
                let fix = "systole follow shows all followers; it goes on by itself";
                tracing::warn!(why = words, fix, "the follower {follower} does not reach its receiver");
                WallClock.now()
            }
        };
        self.error = Some((words, since));
    }
}

/// The board on which one task writes.
pub(crate) type TaskBoard = Arc<Mutex<TaskState>>;

/// The followers of a running organism. Clones share what is known.
#[derive(Clone, Default)]
pub struct FollowerBoard {
    all: Arc<[(FollowerSettings, TaskBoard)]>,
}

impl FollowerBoard {
    pub(crate) fn new(all: Vec<(FollowerSettings, TaskBoard)>) -> FollowerBoard {
        FollowerBoard { all: all.into() }
    }

    /// All followers of a log that ends there.
    pub fn list_all(&self, last: Position) -> Vec<FollowerStatus> {
        let status = |(settings, board): &(FollowerSettings, TaskBoard)| {
            let task = board.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let state = match (task.is_stopped, task.behind.is_some()) {
                (true, _) => FollowerState::Stopped,
                (false, true) => FollowerState::Behind,
                (false, false) => FollowerState::Follows,
            };
            let (error, since) = task.error.unzip();
            let since = since.or(task.behind).map(|since| since.to_string());
            FollowerStatus { error, since, ..FollowerStatus::new(settings, state, task.position, last) }
        };
        self.all.iter().map(status).collect()
    }
}
