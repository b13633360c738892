//! Who hears what a program says aside, as it says it, and how it ended.
//!
//! In an organism that is nobody: the last words of a program stand in the failure that they explain. Whoever tries
//! a program alone wants all of them. Nothing is decided by what is heard here.

/// Hears what is said aside.
pub trait Ear: Send + Sync {
    /// What came on stderr, or on stdout beside the documents of the protocol.
    fn aside(&self, said: &[u8]);
    /// What of that was a line on the stdout of a program that stays, where it should have been a document of the
    /// protocol.
    fn stray(&self, _line: &[u8]) {}
    /// A program ended, and whether it had to be made to.
    fn ended(&self, how: &str, forced: bool);
}

/// Hears nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Deaf;

impl Ear for Deaf {
    fn aside(&self, _: &[u8]) {}
    fn ended(&self, _: &str, _: bool) {}
}
