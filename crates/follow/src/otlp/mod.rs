//! Traces: the turns of calls as spans, sent as OTLP over HTTP.
//!
//! A span is a turn of a call. It is made from the record with which the turn's reply is in the log, so no span waits
//! for a call that takes days, and a log always gives the same spans. A span never has a payload.

mod names;
mod reading;
mod sender;
mod spans;
mod traced_thread;

pub use reading::SourceReader;
pub(crate) use reading::TraceReading;
pub(crate) use sender::TraceSender;
