//! Hears what a program says aside, as it says it, and how it ended.
//!
//! In an organism there is no listener for this: the last words of a program go into the failure that they explain.
//! A test run of a single program wants all of them. Nothing is decided by what is heard here.

/// Hears what is said aside.
pub trait ProgramEar: Send + Sync {
    /// Hears bytes from stderr, or from stdout between the documents of the protocol.
    fn note_stderr(&self, said: &[u8]);
    /// Hears the part of those bytes that was a line on the stdout of a program that stays, where a document of the
    /// protocol was expected.
    fn note_stray(&self, _line: &[u8]) {}
    /// A program ended; `forced` says whether it had to be made to.
    fn note_end(&self, how: &str, forced: bool);
}

/// Hears nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoEar;

impl ProgramEar for NoEar {
    fn note_stderr(&self, _: &[u8]) {}
    fn note_end(&self, _: &str, _: bool) {}
}
