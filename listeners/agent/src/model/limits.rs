//! How long to wait for a provider and how much of its answer to keep, in one place. It knows no provider.

use std::time::Duration;

/// The timeouts and size limits. Agents use the default; tests use smaller ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The time for a connection, including TLS, over all addresses of the name.
    pub connect: Duration,
    /// The time from the request to the first content: a model may have to be loaded, or may think silently.
    pub first: Duration,
    /// The time between two pieces of content. Comments, pings and empty pieces do not count.
    pub idle: Duration,
    /// Bytes of one line, and of one event.
    pub line: usize,
    /// Bytes of an answer: text, reasoning, and calls with their arguments.
    pub answer: usize,
    /// Bytes of the body of an error.
    pub error_body: usize,
    /// The longest wait that a provider may ask for. A provider that asks for more is not asked again.
    pub retry_after: Duration,
}

impl HttpLimits {
    /// The same limits with the model's timeouts from the file.
    pub(super) fn with_model(self, timeout: &crate::spec::ModelTimeouts) -> Self {
        let (first, idle) = (timeout.first_ms, timeout.between_ms);
        Self {
            first: first.map_or(self.first, Duration::from_millis),
            idle: idle.map_or(self.idle, Duration::from_millis),
            ..self
        }
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            line: 1 << 20,
            answer: 4 << 20,
            error_body: 8 << 10,
            retry_after: Duration::from_secs(120),
        }
    }
}
