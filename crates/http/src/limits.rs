//! The limits of an HTTP client.

/// Bytes of the head of an answer, and of one read.
pub(crate) const HEAD_BYTES: usize = 64 << 10;
/// Bytes of a proxy's answer to CONNECT: it says little.
pub(crate) const PROXY_HEAD_BYTES: usize = HEAD_BYTES / 8;
