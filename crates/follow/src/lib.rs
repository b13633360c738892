//! Followers: named cursors over a log that send its events to receivers outside, in order and at least once.
//!
//! A follower reads the end of the log on its own, so the pump waits for none. It says that its receiver took an event
//! only after the receiver said so. It writes nothing to the log but news of itself, through the pump.

mod carrier;
mod cursor;
mod event;
pub mod limits;
mod log_page;
mod message;
mod otlp;
mod plan;
mod posting;
mod settings;
mod status;
mod tending;
mod webhook;

pub use carrier::{EventCarrier, EventOutcome, FollowedEvent};
pub use cursor::{CursorFault, CursorPlace, find_mark, list_begun};
pub use event::{EventSet, FollowedKind};
pub use otlp::{MetricReader, MetricReading, OtlpSender, SourceReader};
pub use plan::{FollowerCarrier, FollowerFault, FollowerPlan};
pub use settings::{EventContent, EventSettings, FollowerSettings, HookForm, SentForm, WebhookAddress};
pub use status::{FollowerBoard, FollowerState, FollowerStatus};
pub use tending::{FollowedLog, FollowerTasks, start_followers};
