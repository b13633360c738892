//! A payload: one self-contained element.
use std::sync::Arc;
/// An expanded name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct QName {
    /// Namespace.
    pub ns: Arc<str>,
    /// Local name.
    pub local: Arc<str>,
}
