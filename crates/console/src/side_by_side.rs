//! Two threads side by side, with the first difference in the middle.
//!
//! Two threads come in; rows of `systole_queries::side_by_side` go out.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::shorten::{encode_part, shorten_text};
use crate::limits;
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;
use systole_hall::reading::thread_of;
use systole_hall::request_refusals::describe_unfit_address;
use systole_queries::limits::COMPARED_RECORDS;
use systole_queries::side_by_side::{self, SideBySide, SideRecord};

/// A record of one side.
struct SideCell {
    seq: u64,
    href: String,
    words: String,
}

/// A row.
struct DiffRow {
    one: Option<SideCell>,
    other: Option<SideCell>,
    /// `same`, `differs`, or which thread alone has it.
    what: &'static str,
    is_first: bool,
}

/// Rows that belong together: equal ones that are far from a difference are folded.
struct RowGroup {
    is_folded: bool,
    rows: Vec<DiffRow>,
}

#[derive(Template)]
#[template(path = "side_by_side.html")]
struct DiffPage {
    frame: Frame,
    one: (String, String),
    other: (String, String),
    differences: usize,
    groups: Vec<RowGroup>,
    is_cut: bool,
    most: usize,
}

/// Leads a form to the page of both threads.
pub(super) async fn compare(asked: PageRequest) -> Response {
    let place = || {
        asked.only(&["with"])?;
        let id = asked.thread()?;
        let with = asked.value("with").unwrap_or_default().trim();
        let with = ThreadId::parse(with)
            .map_err(|malformed| describe_unfit_address(format!("with=: {malformed}")))?;
        let frame = asked.frame(PageTab::Threads, "");
        Ok(frame.to(&format!("/diff/{}/{}", encode_part(id.as_str()), encode_part(with.as_str()))))
    };
    asked.answer_page(
        place().map(|place| (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()),
    )
}

/// Shows both.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    let (one, other) = (asked.part("id").to_owned(), asked.part("other").to_owned());
    let read = asked
        .look(&[], move |moment, _| {
            let (one, other) = (thread_of(moment, &one)?, thread_of(moment, &other)?);
            Ok(side_by_side::read((&*moment.reader, &one), (&*moment.reader, &other))?)
        })
        .await?;
    let found = read.ok_or_else(unknown_thread)?;
    if !asked.is_html {
        return Ok(asked.json(&found.as_json()));
    }
    Ok(render_page(&page(asked, &found)))
}

fn page(asked: &PageRequest, found: &SideBySide) -> DiffPage {
    let frame = asked.frame(PageTab::Threads, "Two threads");
    let frame = frame.with_command(format!("systole diff {} {}", found.one, found.other));
    let link = |id: &ThreadId| (id.to_string(), frame.to(&format!("/t/{}", encode_part(id.as_str()))));
    let cell = |thread: &ThreadId, record: &SideRecord| SideCell {
        seq: record.seq,
        href: frame.to(&format!("/t/{}/{}", encode_part(thread.as_str()), record.seq)),
        words: shorten_text(&record.words, limits::LONG_WORDS),
    };
    let differs = |at: usize| found.rows.get(at).is_some_and(|row| !row.is_same());
    let mut groups: Vec<RowGroup> = Vec::new();
    for (at, row) in found.rows.iter().enumerate() {
        let is_near = (at.saturating_sub(limits::ROWS_AROUND)..=at + limits::ROWS_AROUND).any(differs);
        let shown = DiffRow {
            one: row.one.as_ref().map(|record| cell(&found.one, record)),
            other: row.other.as_ref().map(|record| cell(&found.other, record)),
            what: match (&row.one, &row.other) {
                _ if row.is_same() => "same",
                (Some(_), Some(_)) => "differs",
                (Some(_), None) => "only first",
                (None, _) => "only second",
            },
            is_first: found.first == Some(at),
        };
        match groups.last_mut() {
            Some(group) if group.is_folded != is_near => group.rows.push(shown),
            _ => groups.push(RowGroup { is_folded: !is_near, rows: vec![shown] }),
        }
    }
    DiffPage {
        one: link(&found.one),
        other: link(&found.other),
        differences: found.differences(),
        groups,
        is_cut: found.is_cut,
        most: COMPARED_RECORDS,
        frame,
    }
}
