//! What was refused: how often each model is right at the first try, refusals by code and sender, and the newest ones.
//!
//! A period comes in; tables of `systole_queries::refusals` go out. Only a window of the newest records is read,
//! and the page says so.

use askama::Template;
use axum::response::Response;

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{encode_part, shorten_text};
use crate::limits;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_queries::limits::NEWEST_RECORDS;
use systole_queries::refusals::{self, RefusalPeriod, RefusalTables, RefusedItem};
use systole_show::layout;

/// First tries of a model with an element.
struct TryRow {
    model: String,
    element: String,
    rate: String,
    valid: u64,
    tries: u64,
    percent: u64,
}

/// Refusals of a code and a sender.
struct CodeRow {
    code: String,
    sender: String,
    count: u64,
    href: String,
}

/// A refusal.
struct RefusedRow {
    href: String,
    place: String,
    code: String,
    sender: String,
    element: String,
    words: String,
    ago: String,
    time: String,
}

#[derive(Template)]
#[template(path = "refusals.html")]
struct RefusalsPage {
    frame: Frame,
    since: String,
    until: String,
    models: Vec<TryRow>,
    days: Vec<(String, TryRow)>,
    /// Rows by day that are left out.
    more_days: usize,
    codes: Vec<CodeRow>,
    newest: Vec<RefusedRow>,
    records: u64,
    window: u64,
    is_cut: bool,
    from: Option<(String, String)>,
}

/// Shows the tables.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    let (tables, now) = asked
        .look(&["since", "until"], |moment, fields| {
            let (since, until) = fields.period(moment.now)?;
            let tables = refusals::read(&*moment.reader, RefusalPeriod { since, until }, NEWEST_RECORDS)?;
            Ok((tables, moment.now))
        })
        .await?;
    if !asked.is_html {
        return Ok(asked.json(&tables.as_json()));
    }
    Ok(render_page(&page(asked, &tables, now)))
}

fn page(asked: &PageRequest, tables: &RefusalTables, now: Millis) -> RefusalsPage {
    // No command shows how often a model was right at the first try.
    let frame = asked.frame(PageTab::Refused, "Refused").live();
    let row = |model: &str, element: &str, tries: &refusals::FirstTries| TryRow {
        model: model.to_owned(),
        element: element.to_owned(),
        rate: tries.rate(),
        valid: tries.valid,
        tries: tries.tries,
        percent: (tries.valid * 100).checked_div(tries.tries).unwrap_or(0),
    };
    let mut models: Vec<TryRow> =
        tables.models.iter().map(|((model, element), tries)| row(model, element, tries)).collect();
    // The worst come first.
    models.sort_by_key(|row| (row.percent, u64::MAX - row.tries));
    let mut codes: Vec<CodeRow> = tables
        .codes
        .iter()
        .map(|((code, sender), count)| {
            let to =
                sender.as_ref().map(|name| format!("&to={}", encode_part(name.as_str()))).unwrap_or_default();
            let href = frame.to(&format!("/find?kind=refusal&code={}{to}", encode_part(code)));
            let sender = sender.as_ref().map(Name::to_string).unwrap_or_default();
            CodeRow { code: code.clone(), sender, count: *count, href }
        })
        .collect();
    codes.sort_by_key(|row| u64::MAX - row.count);
    let newest_days = tables.days.iter().rev().take(limits::TABLE_ROWS);
    let value = |name: &str| asked.value(name).unwrap_or_default().to_owned();
    RefusalsPage {
        since: value("since"),
        until: value("until"),
        days: newest_days
            .map(|((day, model, element), tries)| (day.clone(), row(model, element, tries)))
            .collect(),
        more_days: tables.days.len().saturating_sub(limits::TABLE_ROWS),
        newest: tables.newest.iter().map(|item| newest(&frame, item, now)).collect(),
        records: tables.records,
        window: NEWEST_RECORDS,
        is_cut: tables.is_cut,
        from: tables.from.map(|from| (from.to_string(), layout::moment(from, now))),
        models,
        codes,
        frame,
    }
}

fn newest(frame: &Frame, item: &RefusedItem, now: Millis) -> RefusedRow {
    RefusedRow {
        href: frame.to(&format!("/t/{}/{}", encode_part(item.thread.as_str()), item.seq)),
        place: format!("{}@{}", item.thread, item.seq),
        code: item.code.clone(),
        sender: item.sender.as_ref().map(ToString::to_string).unwrap_or_default(),
        element: item.element.as_ref().map(|element| format!("<{element}>")).unwrap_or_default(),
        words: shorten_text(&item.message, limits::WORDS),
        ago: spell_duration(now.count_since(item.at)),
        time: item.at.to_string(),
    }
}
