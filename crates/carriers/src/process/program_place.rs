//! What a program runs with.

use std::sync::Arc;

use systole_kit::DocumentLimits;

use super::program;
use super::variables::InheritedVariables;
use super::warden_link::SpareWardens;
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;

/// What a program runs with.
#[derive(Clone, Debug)]
pub(crate) struct ProgramPlace {
    pub(super) program: ListenerProgram,
    pub(super) badge: program::ProgramBadge,
    pub(super) around: Arc<InheritedVariables>,
    /// The most bytes a program may say at once.
    pub(super) output_bytes: usize,
    pub(super) spare: SpareWardens,
}

impl ProgramPlace {
    pub(crate) fn new(
        program: ListenerProgram,
        (organism, listener): (Name, Name),
        around: Arc<InheritedVariables>,
    ) -> ProgramPlace {
        // A reply that the judge could accept must reach the judge, who tells the sender which part of
        // it is too large. The program is killed only for more than any reply may have.
        let output_bytes = DocumentLimits::default().reply_bytes;
        ProgramPlace {
            program,
            badge: program::ProgramBadge { organism, listener },
            around,
            output_bytes,
            spare: SpareWardens::default(),
        }
    }
}
