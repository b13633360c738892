//! Metrics: the sums of the index, sent to a collector each minute as OTLP over HTTP.
//!
//! They are sums since the log began, so what a collector missed is in the next ones, and there is no cursor.

use std::sync::{Arc, PoisonError};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Metric as SentMetric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
    Summary, SummaryDataPoint,
};
use prost::Message as _;
use tokio::time::Instant;

use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::time::Millis;
use systole_queries::metrics::{Metric, MetricKind, MetricNumber, MetricValue, count_behind};

use super::sender::OtlpSender;
use super::spans::{count_nanos, make_resource, make_scope, make_text};
use crate::carrier::EventOutcome;
use crate::limits::{BEHIND, FIRST_PAUSE, METRICS_PAUSE};
use crate::status::{FollowerBoard, TaskBoard};

/// Reads the metrics as they are now.
pub type MetricReader = Arc<dyn Fn() -> Result<MetricReading, LogFault> + Send + Sync>;

/// The metrics at a moment.
pub struct MetricReading {
    /// The end of the log then.
    pub position: Position,
    /// When the log began.
    pub began: Millis,
    /// The moment.
    pub now: Millis,
    /// The metrics.
    pub metrics: Vec<Metric>,
}

/// Sends the metrics of an organism.
pub(crate) struct MetricTask {
    pub(crate) organism: Name,
    pub(crate) name: Name,
    pub(crate) read: MetricReader,
    pub(crate) sender: Arc<OtlpSender>,
    pub(crate) board: TaskBoard,
    /// All followers.
    pub(crate) followers: FollowerBoard,
}

impl MetricTask {
    /// Sends them each minute, and sooner after a try that failed.
    pub(crate) async fn run(self) {
        let (mut taken_at, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let wait = match self.send_metrics().await {
                Ok(position) => {
                    (taken_at, pause) = (Instant::now(), FIRST_PAUSE);
                    self.note_taken(position);
                    METRICS_PAUSE
                }
                Err(words) => {
                    self.note_error(words, taken_at.elapsed() >= BEHIND);
                    let wait = pause;
                    pause = METRICS_PAUSE.min(pause * 2);
                    wait
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends them once, and returns the position that they were read at. The error is in words.
    async fn send_metrics(&self) -> Result<Position, String> {
        let read = self.read.clone();
        let reading = tokio::task::spawn_blocking(move || read()).await;
        let mut reading = reading.map_err(|panic| panic.to_string())?.map_err(|fault| fault.to_string())?;
        let position = reading.position;
        let followers = self.followers.list_all(position).into_iter();
        reading.metrics.push(count_behind(followers.map(|one| (one.name, one.behind))));
        let message = make_message(&self.organism, reading).encode_to_vec();
        match self.sender.post_message(message, "metrics").await {
            EventOutcome::Taken => Ok(position),
            EventOutcome::TakenInPart(words)
            | EventOutcome::Gone(words)
            | EventOutcome::Refused(words)
            | EventOutcome::Failed { words, .. } => Err(words),
        }
    }

    fn note_taken(&self, position: Position) {
        let mut state = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        (state.position, state.error, state.behind) = (Some(position), None, None);
    }

    fn note_error(&self, words: String, is_behind: bool) {
        let mut state = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        state.note_error(&self.name, words);
        if is_behind && state.behind.is_none() {
            state.behind = state.error.as_ref().map(|(_, since)| *since);
        }
    }
}

/// The message with these metrics.
fn make_message(organism: &Name, reading: MetricReading) -> ExportMetricsServiceRequest {
    let MetricReading { began, now, metrics, .. } = reading;
    let moments = (count_nanos(began), count_nanos(now));
    let metrics = metrics.into_iter().map(|metric| make_metric(metric, moments)).collect();
    let scope_metrics = vec![ScopeMetrics { scope: Some(make_scope()), metrics, ..ScopeMetrics::default() }];
    let resource = Some(make_resource(organism));
    let resource_metrics = vec![ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }
}

fn make_metric(metric: Metric, moments: (u64, u64)) -> SentMetric {
    let Metric { name, kind, help, values } = metric;
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let data = match kind {
        MetricKind::Gauge => Data::Gauge(Gauge { data_points: make_points(values, moments) }),
        MetricKind::Counter => {
            let data_points = make_points(values, moments);
            Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true })
        }
        MetricKind::Summary => {
            let data_points = values.into_iter().map(|value| make_summary(value, moments)).collect();
            Data::Summary(Summary { data_points })
        }
    };
    let unit = if kind == MetricKind::Summary { "s" } else { "" };
    SentMetric {
        name: name.to_owned(),
        description: help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..SentMetric::default()
    }
}

fn make_attributes(labels: Vec<(&'static str, String)>) -> Vec<KeyValue> {
    labels.into_iter().map(|(key, text)| make_text(key, &text)).collect()
}

fn make_points(values: Vec<MetricValue>, (began, now): (u64, u64)) -> Vec<NumberDataPoint> {
    let make = |MetricValue { labels, number }| NumberDataPoint {
        attributes: make_attributes(labels),
        start_time_unix_nano: began,
        time_unix_nano: now,
        value: Some(match number {
            MetricNumber::Count(count) => Value::AsInt(i64::try_from(count).unwrap_or(i64::MAX)),
            MetricNumber::Took { .. } | MetricNumber::Micros(_) => Value::AsDouble(number.count_units()),
        }),
        ..NumberDataPoint::default()
    };
    values.into_iter().map(make).collect()
}

fn make_summary(value: MetricValue, (began, now): (u64, u64)) -> SummaryDataPoint {
    let count = match value.number {
        MetricNumber::Took { count, .. } | MetricNumber::Count(count) => count,
        MetricNumber::Micros(_) => 0,
    };
    SummaryDataPoint {
        attributes: make_attributes(value.labels),
        start_time_unix_nano: began,
        time_unix_nano: now,
        count,
        sum: value.number.count_units(),
        ..SummaryDataPoint::default()
    }
}
