//! Whether a broker does what the pump relies on: it is new enough, it keeps what it takes, and it stores nothing whose
//! expectation is stale. That last is what keeps two pumps apart, so it is tried and not believed.
//!
//! It leaves nothing behind: the stream of the trial is removed, whatever came of it.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::account::Account;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{Info, RawMessage};
use serde_json::{Value, json};

use super::bus::{self, Owner};
use super::subjects::Subjects;
use super::unusable::Unusable;
use super::wire::Wire;
use crate::words::ids::Name;

/// Whether the server is new enough. Older ones take settings that they then do not keep.
pub(super) fn version(wire: &Wire) -> Result<(), Unusable> {
    if wire.client.is_server_compatible(2, 12, 0) {
        return Ok(());
    }
    let version = super::unusable::line(&wire.client.server_info().version);
    Err(Unusable::Old { address: wire.address.clone(), version })
}

/// Whether it has JetStream, and has it for this account.
pub(super) async fn jetstream(wire: &Wire) -> Result<(), Unusable> {
    let what = "it was asked for its JetStream";
    match wire.ask::<Account>(what, "INFO", &json!({})).await? {
        Response::Ok(_) => Ok(()),
        Response::Err { error } => match error.error_code() {
            ErrorCode::JETSTREAM_NOT_ENABLED => {
                Err(Unusable::NoJetStream { address: wire.address.clone(), for_account: false })
            }
            ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
                Err(Unusable::NoJetStream { address: wire.address.clone(), for_account: true })
            }
            _ => Err(wire.refused(what, &error.to_string())),
        },
    }
}

/// Whether a message with a stale expectation is refused and stored nowhere.
pub(super) async fn expectation(wire: &Wire, organism: &Name, subjects: &Subjects) -> Result<(), Unusable> {
    make(wire, organism, subjects).await?;
    let tried = trial(wire, subjects).await;
    let removed = remove(wire, subjects).await;
    tried.and(removed)
}

/// Makes the stream of the trial. One that an earlier start could not remove is ours, and goes first.
async fn make(wire: &Wire, organism: &Name, subjects: &Subjects) -> Result<(), Unusable> {
    let stream = subjects.check_stream();
    let what = format!("the stream {stream} was looked for");
    match wire.ask::<Info>(&what, &["STREAM.INFO.", &stream].concat(), &json!({})).await? {
        Response::Ok(info) => match bus::owner(&info.config, organism) {
            Owner::Ours(_) => remove(wire, subjects).await?,
            Owner::Other(why) => {
                return Err(Unusable::Foreign { address: wire.address.clone(), stream, why });
            }
        },
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {}
        Response::Err { error } => return Err(wire.refused(&what, &error.to_string())),
    }
    bus::make(wire, &bus::ours(organism, stream, subjects.check(), "a trial of the broker by"))
        .await
        .map(drop)
}

async fn remove(wire: &Wire, subjects: &Subjects) -> Result<(), Unusable> {
    let stream = subjects.check_stream();
    let what = format!("the stream {stream} was removed");
    match wire.ask::<Value>(&what, &["STREAM.DELETE.", &stream].concat(), &json!({})).await? {
        Response::Ok(_) => Ok(()),
        // Another start was quicker.
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(()),
        Response::Err { error } => Err(wire.refused(&what, &error.to_string())),
    }
}

async fn trial(wire: &Wire, subjects: &Subjects) -> Result<(), Unusable> {
    let (subject, what) = (subjects.check(), "a message was published to try it");
    let publish = |expected| wire.publish(what, &subject, expected);
    let no = |error: async_nats::jetstream::Error| Err(wire.refused(what, &error.to_string()));
    // A stream that was removed a moment ago may come back with what it held: nothing is supposed of it.
    let first = match publish(None).await? {
        Response::Ok(stored) => stored.sequence,
        Response::Err { error } => return no(error),
    };
    // What was true before; of a stream that was empty, that nothing is there.
    let stale = first.saturating_sub(1);
    let is_stored = match publish(Some(stale)).await? {
        Response::Ok(_) => true,
        Response::Err { error } => match error.error_code() {
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => {
                last(wire, subjects).await? != first
            }
            _ => return no(error),
        },
    };
    if is_stored {
        return Err(Unusable::Forgetful { address: wire.address.clone() });
    }
    match publish(Some(first)).await? {
        Response::Ok(_) => Ok(()),
        Response::Err { error } => no(error),
    }
}

/// The sequence of the last message of the trial that is stored.
async fn last(wire: &Wire, subjects: &Subjects) -> Result<u64, Unusable> {
    #[derive(serde::Deserialize)]
    struct Found {
        message: RawMessage,
    }
    let what = "the last message of the trial was read";
    let api = ["STREAM.MSG.GET.", &subjects.check_stream()].concat();
    match wire.ask::<Found>(what, &api, &json!({ "last_by_subj": subjects.check() })).await? {
        Response::Ok(found) => Ok(found.message.sequence),
        Response::Err { error } => Err(wire.refused(what, &error.to_string())),
    }
}
