//! Writes ended turns as spans of OTLP. Names, codes, numbers and ids are all that they have.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use systole_core::rules::core_payload::{read_attributes, read_first_code};
use systole_core::rules::first_cause::is_code;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, one_line};
use systole_core::types::record::{Record, RecordCode};
use systole_core::types::time::Millis;

use super::names::{
    CALL, CODE, CONVERSATION, COST, ERROR, FINISH_REASONS, FIRST_CODE, INPUT_TOKENS, OPERATION,
    OUTPUT_TOKENS, Operation, RECORD, SERVICE, THREAD, TURN,
};
use super::traced_thread::{EndedTurn, ModelRequest, SpanId};
use crate::limits::MILLI_NANOS;

/// The place of the spans of a record.
#[derive(Clone, Copy)]
pub(super) struct SpanPlace<'a> {
    pub(super) trace: [u8; 16],
    pub(super) operation: Operation,
    /// The record that ends the turn.
    pub(super) record: &'a Record,
}

/// The message with these spans.
pub(super) fn make_request(organism: &Name, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope_spans = vec![ScopeSpans { scope: Some(make_scope()), spans, ..ScopeSpans::default() }];
    let resource = Some(make_resource(organism));
    let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }
}

/// Who sends it.
pub(super) fn make_scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "systole".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Whom it is about.
pub(super) fn make_resource(organism: &Name) -> Resource {
    Resource { attributes: vec![make_text(SERVICE, organism.as_str())], ..Resource::default() }
}

/// The span of a turn, and below it one for each request to a model. `close` is the record that closes its call.
pub(super) fn make_spans(place: SpanPlace<'_>, turn: EndedTurn, close: Option<&Record>) -> Vec<Span> {
    let SpanPlace { trace, operation, record } = place;
    let h = &record.header;
    let number = |key, number: u64| make_attribute(key, make_int(number));
    let mut attributes = vec![
        make_text(OPERATION, operation.as_str()),
        make_text(operation.subject(), turn.listener.as_str()),
        make_text(CONVERSATION, h.thread.root_of().as_str()),
        make_text(THREAD, h.thread.as_str()),
        make_text(CALL, turn.call.as_str()),
        number(TURN, turn.turn.into()),
        number(RECORD, h.seq),
    ];
    let failure = close.and_then(read_failure);
    match (&failure, close.and_then(|close| close.header.code)) {
        (Some(failure), _) => attributes.extend(failure.list_attributes()),
        (None, Some(RecordCode::Code(code))) => attributes.push(make_text(CODE, code.as_str())),
        (None, _) => {}
    }
    let link =
        |first: SpanId| Link { trace_id: trace.to_vec(), span_id: first.0.to_vec(), ..Link::default() };
    let span = Span {
        trace_id: trace.to_vec(),
        span_id: turn.span.0.to_vec(),
        parent_span_id: turn.parent.map_or_else(Vec::new, |parent| parent.0.to_vec()),
        name: format!("{} {}", operation.as_str(), turn.listener),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: count_nanos(turn.start),
        end_time_unix_nano: count_nanos(h.time),
        attributes,
        links: turn.first.map(link).into_iter().collect(),
        status: failure.map(|failure| make_status(failure.code)),
        ..Span::default()
    };
    let requests = turn.requests.iter().map(|request| make_chat(place, turn.span, request));
    std::iter::once(span).chain(requests).collect()
}

/// The span of a request to a model. One without a result ends with its turn.
fn make_chat(place: SpanPlace<'_>, turn: SpanId, request: &ModelRequest) -> Span {
    let (operation, model) = (Operation::Chat, one_line(&request.model));
    let mut attributes = vec![
        make_text(OPERATION, operation.as_str()),
        make_text(operation.subject(), &model),
        make_text(CONVERSATION, place.record.header.thread.root_of().as_str()),
    ];
    let mut code = Some(Code::UnknownOutcome.as_str().to_owned());
    if let Some(result) = &request.result {
        let tokens = [(INPUT_TOKENS, result.tokens_in), (OUTPUT_TOKENS, result.tokens_out)];
        let known = tokens.into_iter().filter_map(|(key, count)| Some((key, count?)));
        attributes.extend(known.map(|(key, count)| make_attribute(key, make_int(count))));
        attributes.extend(result.money.map(|money| make_text(COST, &money.to_string())));
        // The codes of failures have a family, as `model.unavailable`; `end` and `length` have none.
        let stop = Some(&result.stop).filter(|stop| is_code(stop)).cloned();
        attributes.extend(stop.as_deref().map(|stop| {
            let values = vec![AnyValue { value: Some(Value::StringValue(stop.to_owned())) }];
            make_attribute(FINISH_REASONS, Value::ArrayValue(ArrayValue { values }))
        }));
        code = stop.filter(|stop| stop.contains('.'));
    }
    attributes.extend(code.as_deref().map(|code| make_text(ERROR, code)));
    let end = request.result.as_ref().map_or(place.record.header.time, |result| result.at);
    Span {
        trace_id: place.trace.to_vec(),
        span_id: request.span.0.to_vec(),
        parent_span_id: turn.0.to_vec(),
        name: format!("{} {model}", operation.as_str()),
        kind: SpanKind::Client.into(),
        start_time_unix_nano: count_nanos(request.start),
        end_time_unix_nano: count_nanos(end.max(request.start)),
        attributes,
        status: code.map(make_status),
        ..Span::default()
    }
}

/// Why a call failed.
struct CallFailure {
    code: String,
    first_code: Option<String>,
}

impl CallFailure {
    fn list_attributes(&self) -> impl Iterator<Item = KeyValue> {
        let first = self.first_code.as_deref().map(|first| make_text(FIRST_CODE, first));
        [make_text(ERROR, &self.code)].into_iter().chain(first)
    }
}

/// Why a call failed, by the record that closed it; `None` if it did not fail. What a listener gives as a code may be
/// any text, and is left out if it has not the form of one.
fn read_failure(close: &Record) -> Option<CallFailure> {
    CallJudgement::of_record(close).filter(|end| end.is_failure())?;
    let code = match close.header.code {
        Some(RecordCode::Code(code)) => code.as_str().to_owned(),
        _ => {
            let [reason] = read_attributes(&close.body, "final-report", ["reason"]).unwrap_or_default();
            let code = reason.as_deref().and_then(Code::parse);
            code.map_or("reported", Code::as_str).to_owned()
        }
    };
    let first_code = read_first_code(&close.body).filter(|first| is_code(first));
    Some(CallFailure { code, first_code })
}

fn make_status(code: String) -> Status {
    Status { message: code, code: StatusCode::Error.into() }
}

fn make_attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

pub(super) fn make_text(key: &str, value: &str) -> KeyValue {
    make_attribute(key, Value::StringValue(value.to_owned()))
}

fn make_int(number: u64) -> Value {
    Value::IntValue(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(super) fn count_nanos(at: Millis) -> u64 {
    at.0.saturating_mul(MILLI_NANOS)
}
