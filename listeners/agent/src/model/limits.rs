//! How long a provider is waited for and how much of it is kept, in one place. Knows no provider.

use std::time::Duration;

/// What is waited for and kept. The default is what agents use; tests have smaller ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until there is a connection, TLS included, over all addresses of the name.
    pub connect: Duration,
    /// From the request to the first piece of content: a model may have to be loaded, or thinks without a word.
    pub first: Duration,
    /// Between two pieces of content. Comments, pings and empty pieces do not count as any.
    pub idle: Duration,
    /// Bytes of one line, and of one event.
    pub line: usize,
    /// Bytes of an answer: text, reasoning, calls with their arguments.
    pub answer: usize,
    /// Bytes of the body of an error.
    pub error_body: usize,
    /// The longest wait that a provider may ask for. Whoever asks for more is not asked again.
    pub retry_after: Duration,
}

impl Limits {
    /// The same with the waits that the file gives a model.
    pub(super) fn of_model(self, timeout: &crate::spec::Timeout) -> Self {
        let (first, idle) = (timeout.first_ms, timeout.between_ms);
        Self {
            first: first.map_or(self.first, Duration::from_millis),
            idle: idle.map_or(self.idle, Duration::from_millis),
            ..self
        }
    }
}

impl Default for Limits {
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
