//! Posts spans or metrics to a collector as OTLP over HTTP, in protobuf.

use std::pin::Pin;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;

use crate::carrier::{EventCarrier, EventOutcome, FollowedEvent};
use crate::posting::{EventPoster, write_words};

/// Posts to one address.
pub struct OtlpSender {
    poster: EventPoster,
}

impl OtlpSender {
    pub(crate) fn new(poster: EventPoster) -> OtlpSender {
        OtlpSender { poster }
    }

    /// Posts a message with these things.
    pub(crate) async fn post_message(&self, body: Vec<u8>, things: &str) -> EventOutcome {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        match self.poster.post(headers, body).await {
            Ok(answer) => judge_taking(&answer, things),
            Err(outcome) => outcome,
        }
    }
}

impl EventCarrier for OtlpSender {
    fn send_event<'a>(
        &'a self,
        event: &'a FollowedEvent,
    ) -> Pin<Box<dyn Future<Output = EventOutcome> + Send + 'a>> {
        Box::pin(self.post_message(event.body.clone(), "spans"))
    }
}

/// A collector that takes a message can say that it rejects things in it. These are not sent again. Its answers about
/// spans and about metrics have the same fields.
fn judge_taking(answer: &[u8], things: &str) -> EventOutcome {
    let partial = ExportTraceServiceResponse::decode(answer).ok().and_then(|answer| answer.partial_success);
    match partial.filter(|partial| partial.rejected_spans > 0) {
        Some(partial) => {
            let words = write_words(partial.error_message.as_bytes());
            EventOutcome::TakenInPart(format!("{} {things} are rejected: {words}", partial.rejected_spans))
        }
        None => EventOutcome::Taken,
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;

    use super::*;

    #[test]
    fn h6_a_collector_that_rejects_spans_says_so_and_one_that_only_warns_has_taken_them() {
        let answer = |rejected_spans| {
            let partial = ExportTracePartialSuccess { rejected_spans, error_message: "too\nold".to_owned() };
            ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
        };
        let rejected = EventOutcome::TakenInPart("2 spans are rejected: too old".to_owned());
        assert_eq!(judge_taking(&answer(2), "spans"), rejected);
        for taken in [&answer(0)[..], b"", b"{}"] {
            assert_eq!(judge_taking(taken, "spans"), EventOutcome::Taken, "{taken:?}");
        }
    }
}
