//! OTLP over HTTP: traces, which are the turns of calls as spans, and metrics, which are the sums of the index.
//!
//! A span is a turn of a call. It is made from the record with which the turn's reply is in the log, so no span waits
//! for a call that takes days, and a log always gives the same spans. A span never has a payload.

mod metrics;
mod names;
mod reading;
mod sender;
mod spans;
mod traced_thread;

pub(crate) use metrics::MetricTask;
pub use metrics::{MetricReader, MetricReading};
pub use reading::SourceReader;
pub(crate) use reading::TraceReading;
pub use sender::OtlpSender;
