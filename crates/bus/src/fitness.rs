//! Whether a broker does what the pump relies on: it is new enough, it keeps what it takes, and it refuses messages
//! with a stale expectation. The last point is what keeps two pumps apart, so it is tried and not assumed.
//!
//! The check leaves nothing behind: the messages of the trial are always removed, and no delivery is touched.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::account::Account;
use async_nats::jetstream::response::Response;
use serde_json::{Value, json};

use super::subjects::BrokerSubjects;
use super::unusable::BrokerFault;
use super::wire::BrokerWire;

/// Whether the server is new enough. Older servers accept settings that they then ignore.
pub(super) fn check_version(wire: &BrokerWire) -> Result<(), BrokerFault> {
    if wire.client.is_server_compatible(2, 12, 0) {
        return Ok(());
    }
    let version = super::unusable::make_line(&wire.client.server_info().version);
    Err(BrokerFault::Old { address: wire.address.clone(), version })
}

/// Whether it has JetStream, and offers it to this account.
pub(super) async fn check_jetstream(wire: &BrokerWire) -> Result<(), BrokerFault> {
    let what = "it was asked for its JetStream";
    match wire.ask_api::<Account>(what, "INFO", &json!({})).await? {
        Response::Ok(_) => Ok(()),
        Response::Err { error } => match error.error_code() {
            ErrorCode::JETSTREAM_NOT_ENABLED => {
                Err(BrokerFault::NoJetStream { address: wire.address.clone(), for_account: false })
            }
            ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
                Err(BrokerFault::NoJetStream { address: wire.address.clone(), for_account: true })
            }
            _ => Err(wire.report_refused(what, &error.to_string())),
        },
    }
}

/// Whether a message with a stale expectation is refused and not stored. This is tried on the stream of deliveries
/// itself, under a subject that no listener has: a separate stream that was made and removed may come back with its
/// messages.
pub(super) async fn check_expectation(
    wire: &BrokerWire,
    subjects: &BrokerSubjects,
) -> Result<(), BrokerFault> {
    clear_stream(wire, subjects).await?;
    let tried = try_stream(wire, subjects).await;
    let cleared = clear_stream(wire, subjects).await;
    tried.and(cleared)
}

/// Removes the messages of the trial, and those that an interrupted trial has left.
async fn clear_stream(wire: &BrokerWire, subjects: &BrokerSubjects) -> Result<(), BrokerFault> {
    let what = "the messages of a trial were removed";
    let api = format!("STREAM.PURGE.{}", subjects.bus_stream());
    match wire.ask_api::<Value>(what, &api, &json!({ "filter": subjects.check() })).await? {
        Response::Ok(_) => Ok(()),
        Response::Err { error } => Err(wire.report_refused(what, &error.to_string())),
    }
}

/// Another pump may run the same trial and remove what this one has stored. So the trial expects a state that was
/// true once and cannot become true again.
async fn try_stream(wire: &BrokerWire, subjects: &BrokerSubjects) -> Result<(), BrokerFault> {
    let (subject, what) = (subjects.check(), "a message was published to try it");
    let publish = |expected| wire.publish_message(what, &subject, "systole".into(), expected);
    let mut first = None;
    for _ in 0..2 {
        match publish(None).await? {
            Response::Ok(stored) => drop(first.get_or_insert(stored.sequence)),
            Response::Err { error } => return Err(wire.report_refused(what, &error.to_string())),
        }
    }
    match publish(first).await? {
        Response::Ok(_) => Err(BrokerFault::Forgetful { address: wire.address.clone() }),
        Response::Err { error } => match error.error_code() {
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => Ok(()),
            _ => Err(wire.report_refused(what, &error.to_string())),
        },
    }
}
