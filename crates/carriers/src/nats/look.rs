//! Looks through the stream for the deliveries of a listener that are before a fence.

use std::sync::Arc;

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{DeleteMessageErrorKind, LastRawMessageErrorKind, Stream};
use systole_kit::envelope::read_delivered;

use super::places::DeliveryPlace;
use super::side_messages::in_time;
use systole_bus::Broker;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::time::Millis;

/// The places of the deliveries that are out, as `is_ours` says. All others are deleted.
pub(super) async fn list_deliveries(
    broker: &Broker,
    listener: &Name,
    (stream, fence): (&Stream<()>, u64),
    is_ours: impl Fn(&str) -> bool,
) -> Result<Vec<(Arc<str>, DeliveryPlace)>, String> {
    let deliveries = broker.subjects().name_delivery(listener);
    let (mut found, mut from) = (Vec::new(), 1);
    loop {
        let next = async {
            match stream.raw_message_builder().sequence(from).next_by_subject(&deliveries).send().await {
                Ok(message) => Ok(Some(message)),
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
                Err(error) => Err(error),
            }
        };
        let next = in_time("a delivery in the stream", next).await?;
        let Some(message) = next.filter(|message| message.sequence <= fence) else { return Ok(found) };
        from = message.sequence + 1;
        let token = read_delivered(&message.payload).ok().map(|read| read.stamp.delivery.to_string());
        if let Some(token) = token.filter(|token| is_ours(token)) {
            let place = DeliveryPlace::new_found(
                message.sequence,
                read_time(&message),
                Digest::hash_bytes(&message.payload),
            );
            found.push((token.into(), place));
            continue;
        }
        match stream.delete_message(message.sequence).await {
            Err(error) if error.kind() == DeleteMessageErrorKind::TimedOut => return Err(error.to_string()),
            // The worker that has it may have acknowledged it.
            _ => {}
        }
    }
}

/// When the broker stored a message, by its own time.
pub(super) fn read_time(message: &StreamMessage) -> Option<Millis> {
    u64::try_from(message.time.unix_timestamp_nanos() / 1_000_000).ok().map(Millis)
}
