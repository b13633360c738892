//! A thread's tree together with what the thread waits for, as every view shows it.
//!
//! A log's state and a thread's id come in; the tree, its waits and their JSON form go out.

use serde_json::Value;

use super::{ThreadTree, read, to_json};
use crate::log_state::LogState;
use crate::pauses::ThreadPause;
use crate::posts::DueCalls;
use crate::why::ThreadWaits;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::Millis;

/// A thread as a tree, with what it waits for; `None` if it has no record.
pub fn standing(
    reader: &dyn LogReader,
    whole: &LogState,
    id: &ThreadId,
    now: Millis,
) -> Result<Option<(ThreadTree, ThreadWaits)>, LogFault> {
    let posts = DueCalls::at(whole, now);
    let (Some(thread), Some(tree)) = (whole.thread(reader, id)?, read(reader, id)?) else {
        return Ok(None);
    };
    Ok(Some((tree, ThreadWaits::of(reader, whole, &posts, &thread)?)))
}

/// Both for programs.
pub fn standing_json(tree: &ThreadTree, standing: &ThreadWaits, now: Millis) -> Value {
    let reasons = |thread: &ThreadId, call: &CallPath| standing.find(thread, call);
    let mut drawn = to_json(tree, &reasons, now);
    if let Some(fields) = drawn.as_object_mut() {
        fields.insert("state".to_owned(), standing.state().into());
        fields.insert("life".to_owned(), standing.life.as_str().into());
        let paused = standing.paused.as_ref();
        fields.insert("paused".to_owned(), paused.map_or(Value::Null, ThreadPause::as_json));
    }
    drawn
}

/// Adds the picture of the thread's run to its tree for programs.
pub fn with_picture(drawn: &mut Value, picture: Value) {
    if let Some(fields) = drawn.as_object_mut() {
        fields.insert("picture".to_owned(), picture);
    }
}
