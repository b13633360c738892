//! Where the time of a thread went: a lane for each listener, as a picture and as numbers, with the path that decided.
//!
//! A thread comes in; lanes of `systole_queries::lanes` go out.

use askama::Template;
use axum::response::Response;

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::shorten::encode_part;
use crate::limits;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::spell_measured;
use systole_queries::lanes::{self, LaneMeasure, SpanKind, ThreadTime, TimeSpan};
use systole_queries::limits::{LANE_RECORDS, LANE_THREADS};

/// A listener in the table.
struct LaneRow {
    listener: String,
    /// The time of each kind; empty if there is none.
    times: Vec<(&'static str, String)>,
    critical: String,
    tokens: String,
    money: String,
}

/// A span of the path.
struct SpanRow {
    listener: String,
    kind: &'static str,
    after: String,
    lasts: String,
    call: String,
    href: String,
    model: String,
}

#[derive(Template)]
#[template(path = "time.html")]
struct TimePage {
    frame: Frame,
    name: String,
    thread: String,
    whole: String,
    picture: String,
    has_long_waits: bool,
    /// What the width shows: the word, its address, and whether it is shown.
    measures: [(&'static str, String, bool); 3],
    kinds: [SpanKind; 5],
    rows: Vec<LaneRow>,
    path: Vec<SpanRow>,
    more: usize,
    is_cut: bool,
    most: (usize, usize),
}

/// Shows the time.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    let id = asked.thread()?;
    let by =
        asked.one_of("by", &LaneMeasure::WORDS)?.and_then(LaneMeasure::parse).unwrap_or(LaneMeasure::Time);
    let wanted = id.clone();
    let read = asked
        .look(&["by"], move |moment, _| {
            let whole = moment.read_state()?;
            let running = moment.composition();
            let slots = |config, listener: &Name| {
                let known = whole.listener(config, listener).or_else(|| running.find_listener(listener));
                known.map_or(1, |listener| listener.in_flight)
            };
            Ok(lanes::read(&*moment.reader, &wanted, &slots, moment.now)?)
        })
        .await?;
    let time = read.ok_or_else(unknown_thread)?;
    if !asked.is_html {
        return Ok(asked.json(&time.as_json()));
    }
    Ok(render_page(&page(asked, &id, &time, by)))
}

fn page(asked: &PageRequest, id: &ThreadId, time: &ThreadTime, by: LaneMeasure) -> TimePage {
    let frame = asked.frame(PageTab::Threads, &format!("Time of {id}"));
    let critical = time.critical();
    let path = format!("/t/{}/time", encode_part(id.as_str()));
    let measure = |word: &'static str| (word, frame.to(&format!("{path}?by={word}")), word == by.as_str());
    let measures = LaneMeasure::WORDS.map(measure);
    TimePage {
        name: id.to_string(),
        thread: frame.to(&format!("/t/{}", encode_part(id.as_str()))),
        whole: spell_measured(time.ms()),
        picture: lanes::picture(time, by),
        has_long_waits: by == LaneMeasure::Time && time.has_long_waits(),
        measures,
        kinds: SpanKind::ALL,
        rows: time.lanes.iter().map(row).collect(),
        more: critical.len().saturating_sub(limits::SPANS),
        path: critical.iter().take(limits::SPANS).map(|(name, one)| span(&frame, time, name, one)).collect(),
        is_cut: time.is_cut,
        most: (LANE_RECORDS, LANE_THREADS),
        frame,
    }
}

fn row(lane: &lanes::TimeLane) -> LaneRow {
    let told = |ms: u64| if ms > 0 { spell_measured(ms) } else { String::new() };
    LaneRow {
        listener: lane.listener.to_string(),
        times: SpanKind::ALL.iter().map(|kind| (kind.as_str(), told(lane.ms(*kind)))).collect(),
        critical: told(lane.critical_ms()),
        tokens: if lane.tokens() > 0 { lane.tokens().to_string() } else { String::new() },
        money: lane.money().join(", "),
    }
}

fn span(frame: &Frame, time: &ThreadTime, listener: &Name, span: &TimeSpan) -> SpanRow {
    let thread = encode_part(span.thread.as_str());
    SpanRow {
        listener: listener.to_string(),
        kind: span.kind.as_str(),
        after: spell_measured(span.from.count_since(time.from)),
        lasts: if span.is_open {
            format!("{} so far", spell_measured(span.ms()))
        } else {
            spell_measured(span.ms())
        },
        call: format!("{} {}", span.thread, span.call),
        href: frame.to(&format!("/t/{thread}/{}", span.ends.unwrap_or(span.begins))),
        model: span.model.clone().unwrap_or_default(),
    }
}
