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
mod once;
mod pipe;
mod program;
mod root;
mod script;
mod stay;
mod try_start;

use std::pin::Pin;
use std::sync::Arc;

pub use program::Surroundings;
pub(super) use root::{Root, root_of};
pub use try_start::{Tried, try_start};

use systole_kit::Limits;

use super::post::Post;
use crate::edges::tasks::{self, Kind, Task};
use systole_core::types::composition::Program;
use systole_core::types::ids::Name;

/// What a program is run with.
#[derive(Clone, Debug)]
pub(super) struct Workplace {
    pub(super) program: Program,
    pub(super) badge: program::Badge,
    pub(super) around: Arc<Surroundings>,
    /// The most bytes a program may say at once.
    pub(super) output_bytes: usize,
}

impl Workplace {
    pub(super) fn new(
        program: Program,
        (organism, listener): (Name, Name),
        around: Arc<Surroundings>,
    ) -> Workplace {
        // What the judge would take gets to the judge, who tells the sender of what is too large in it;
        // the program is ended only for more than a reply may ever have.
        let output_bytes = Limits::default().reply_bytes;
        Workplace { program, badge: program::Badge { organism, listener }, around, output_bytes }
    }
}

/// Starts the task that tends a program.
pub(super) fn tend(post: &Post, place: Workplace) -> Task {
    let kind = Kind::Listener(post.listener.clone());
    let fallen = post.clone();
    let place = Arc::new(place);
    let work: Pin<Box<dyn Future<Output = ()> + Send>> = if place.program.stays {
        Box::pin(stay::tend(post.clone(), place))
    } else {
        Box::pin(once::tend(post.clone(), place))
    };
    tasks::start(kind, work, |panicked| fallen.fallen(panicked))
}
