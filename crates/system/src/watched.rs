//! What a watched channel has now.

use tokio::sync::watch;

/// The value of now. The channel is free again when this returns.
///
/// `borrow` holds a read lock to the end of its statement. Two of them in one statement never end once a
/// sender waits between them, and neither does any sender.
pub fn read_watched<T: Clone>(watched: &watch::Receiver<T>) -> T {
    #[expect(clippy::disallowed_methods, reason = "the one place that lets go at once")]
    let value = watched.borrow().clone();
    value
}
