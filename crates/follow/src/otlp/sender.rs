//! Posts spans to a collector as OTLP over HTTP, in protobuf.

use std::pin::Pin;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;

use crate::carrier::{EventCarrier, EventOutcome, FollowedEvent};
use crate::posting::{EventPoster, write_words};

/// Posts spans to one address.
pub(crate) struct TraceSender {
    poster: EventPoster,
}

impl TraceSender {
    pub(crate) fn new(poster: EventPoster) -> TraceSender {
        TraceSender { poster }
    }

    async fn post_spans(&self, event: &FollowedEvent) -> EventOutcome {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        match self.poster.post(headers, event.body.clone()).await {
            Ok(answer) => judge_taking(&answer),
            Err(outcome) => outcome,
        }
    }
}

impl EventCarrier for TraceSender {
    fn send_event<'a>(
        &'a self,
        event: &'a FollowedEvent,
    ) -> Pin<Box<dyn Future<Output = EventOutcome> + Send + 'a>> {
        Box::pin(self.post_spans(event))
    }
}

/// A collector that takes a message can say that it rejects spans of it. These are not sent again.
fn judge_taking(answer: &[u8]) -> EventOutcome {
    let partial = ExportTraceServiceResponse::decode(answer).ok().and_then(|answer| answer.partial_success);
    match partial.filter(|partial| partial.rejected_spans > 0) {
        Some(partial) => {
            let words = write_words(partial.error_message.as_bytes());
            EventOutcome::TakenInPart(format!("{} spans are rejected: {words}", partial.rejected_spans))
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
        assert_eq!(judge_taking(&answer(2)), rejected);
        for taken in [&answer(0)[..], b"", b"{}"] {
            assert_eq!(judge_taking(taken), EventOutcome::Taken, "{taken:?}");
        }
    }
}
