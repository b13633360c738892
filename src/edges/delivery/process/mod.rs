//! Listeners that are programs, spoken to over stdin and stdout.
//!
//! A carrier here never judges a document, never tries a delivery again, and touches no process that
//! it did not start. In: deliveries and call-backs. Out: `Heard`, once for every delivery.
//!
//! A program must end when its stdin does: that is how it learns that the organism is gone, also
//! when the organism was killed and could tell nobody.

mod frames;
mod hearing;
mod last_words;
mod pipe;
mod program;
mod root;
mod stay;

use std::sync::Arc;

pub use program::Surroundings;

use super::post::Post;
use crate::edges::tasks::{self, Kind, Task};
use crate::words::codes::Code;
use crate::words::composition::Program;
use crate::words::ids::Name;

/// What a program is run with.
#[derive(Clone, Debug)]
pub(super) struct Workplace {
    pub(super) program: Program,
    pub(super) badge: program::Badge,
    pub(super) around: Arc<Surroundings>,
    /// The longest thing a program may say at once.
    pub(super) output_bytes: usize,
}

impl Workplace {
    pub(super) fn new(
        program: Program,
        (organism, listener): (Name, Name),
        around: Arc<Surroundings>,
        message_bytes: usize,
    ) -> Workplace {
        // Twice a message: a reply may hold several items that are each within the limit, and one
        // that is a little over it is better told so by the judge than ended here.
        let output_bytes = message_bytes.saturating_mul(2);
        Workplace { program, badge: program::Badge { organism, listener }, around, output_bytes }
    }
}

/// Starts the task that tends a program.
pub(super) fn tend(post: &Post, place: Workplace) -> Task {
    let fallen = {
        let post = post.clone();
        async move |panicked: tasks::Panicked| {
            let words = ["the carrier panicked: ", &panicked.0].concat();
            post.left(&words, true).await;
            post.close(Code::ListenerLost, &words).await;
        }
    };
    let kind = Kind::Listener(post.listener.clone());
    let (post, place) = (post.clone(), Arc::new(place));
    tasks::start(kind, stay::tend(post, place), fallen)
}
