//! Costs: the model requests of a period, by agent, model, client or day.
//!
//! A period and a group come in; rows of `audit::costs` go out.

use askama::Template;
use axum::response::Response;

use super::asked::{PageRequest, rendered};
use super::frame::{Frame, PageTab};
use crate::reading::{cost_filter, costs_of};
use systole_core::types::refusal::Refusal;
use systole_queries::costs::{CostGroup, CostRow, grouped_json, joined};
use systole_show::columns::plain;

/// A row of the table.
struct CostLine {
    value: String,
    requests: u64,
    tokens_in: String,
    tokens_out: String,
    money: String,
    /// What is not known, in words.
    unknown: String,
}

#[derive(Template)]
#[template(path = "costs.html")]
struct CostsPage {
    frame: Frame,
    groups: Vec<(&'static str, bool)>,
    by: &'static str,
    fields: Vec<(&'static str, &'static str, String)>,
    rows: Vec<CostLine>,
    all: CostLine,
}

/// Shows the costs.
pub(super) async fn cost(asked: PageRequest) -> Response {
    asked.answered(shown(&asked).await)
}

async fn shown(asked: &PageRequest) -> Result<Response, Refusal> {
    let known = ["since", "until", "agent", "model", "client", "by"];
    let (by, rows) = asked
        .look(&known, |moment, fields| {
            let (filter, by) = cost_filter(moment, fields)?;
            Ok((by, costs_of(moment, &filter, by)?))
        })
        .await?;
    if !asked.is_html {
        return Ok(asked.json(&grouped_json(by, &rows)));
    }
    let value = |name: &str| asked.value(name).unwrap_or_default().to_owned();
    let fields = [
        ("since", "Since"),
        ("until", "Until"),
        ("agent", "Agent"),
        ("model", "Model"),
        ("client", "Client"),
    ];
    let page = CostsPage {
        frame: asked.frame(PageTab::Cost, "Cost").with_known_command(command(asked, by)),
        groups: CostGroup::ALL.iter().map(|group| (group.as_str(), *group == by)).collect(),
        by: by.as_str(),
        fields: fields.map(|(name, label)| (name, label, value(name))).to_vec(),
        all: line("all", &joined(rows.values())),
        rows: rows.iter().map(|(value, row)| line(&plain(value), row)).collect(),
    };
    Ok(rendered(&page))
}

/// The command for the same requests, which it groups by agent and model. It knows no other group and no filter by
/// model or client.
fn command(asked: &PageRequest, by: CostGroup) -> Option<String> {
    let is_known =
        by == CostGroup::Agent && ["model", "client"].iter().all(|name| asked.value(name).is_none());
    let since = if asked.value("since").is_some() { "" } else { " --since 2000-01-01" };
    let options = asked.options(&["since", "until", "agent"]);
    is_known.then(|| format!("systole cost{since}{options}"))
}

fn line(value: &str, row: &CostRow) -> CostLine {
    let unknown =
        [(row.unknown, "of unknown outcome"), (row.uncounted, "uncounted"), (row.unpriced, "unpriced")];
    let unknown =
        unknown.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
    CostLine {
        value: value.to_owned(),
        requests: row.requests,
        tokens_in: row.tokens_in.to_string(),
        tokens_out: row.tokens_out.to_string(),
        money: row.amounts().join(", "),
        unknown: unknown.collect::<Vec<_>>().join(", "),
    }
}
