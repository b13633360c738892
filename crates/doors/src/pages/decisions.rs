//! What persons decided in a period: who, when, about which payload, with which outcome, and what ran after it.
//!
//! A period comes in; a part of the rows of `systole_queries::decisions` goes out, with the address of the next part.

use askama::Template;
use axum::response::Response;

use super::asked::{PageRequest, rendered};
use super::frame::{Frame, PageTab};
use super::shorten::{encoded, shortened};
use crate::limits;
use crate::reading::decided;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_queries::decisions::DecidedRequest;
use systole_show::columns::plain;
use systole_show::layout;

/// A decision.
pub(super) struct DecisionRow {
    id: String,
    /// The record of the decision.
    href: String,
    outcome: String,
    at: String,
    time: String,
    /// Whose request it was, and for whom.
    parties: String,
    subject: String,
    /// The record with what was decided about.
    subject_href: String,
    hash: String,
    /// The hash of what went out, if that is another payload.
    sent: Option<String>,
    note: String,
    ran: String,
    ran_href: Option<String>,
}

#[derive(Template)]
#[template(path = "decisions.html")]
struct DecisionsPage {
    frame: Frame,
    since: String,
    until: String,
    rows: Vec<DecisionRow>,
    older: Option<String>,
}

/// Shows the decisions.
pub(super) async fn decisions(asked: PageRequest) -> Response {
    asked.answered(shown(&asked).await)
}

async fn shown(asked: &PageRequest) -> Result<Response, Refusal> {
    let found = asked.look(&["since", "until", "before"], |moment, fields| {
        Ok((decided(moment, fields, limits::LISTED)?, moment.now))
    });
    let (found, now) = found.await?;
    if !asked.is_html {
        return Ok(asked.json(&serde_json::to_value(found).unwrap_or_default()));
    }
    let period = asked.options(&["since", "until"]);
    let frame = asked.frame(PageTab::Approvals, "Decisions");
    // The command knows no part of its list.
    let frame = if asked.value("before").is_none() {
        frame.with_command(format!("systole decisions{period}")).live()
    } else {
        frame
    };
    let value = |name: &str| asked.value(name).unwrap_or_default().to_owned();
    let older = found.next.as_ref().map(|next| {
        let set = ["since", "until"].into_iter().filter_map(|name| Some((name, asked.value(name)?)));
        let set: String = set.map(|(name, value)| format!("{name}={}&", encoded(value))).collect();
        frame.to(&format!("/decisions?{set}before={next}"))
    });
    let page = layout::whole_lines(|| DecisionsPage {
        since: value("since"),
        until: value("until"),
        rows: found.decisions.iter().map(|one| DecisionRow::of(one, &frame, now)).collect(),
        older,
        frame,
    });
    Ok(rendered(&page))
}

impl DecisionRow {
    fn of(one: &DecidedRequest, frame: &Frame, now: Millis) -> DecisionRow {
        let place = |seq: u64| frame.to(&format!("/t/{}/{seq}", encoded(&one.thread)));
        let parties = match one.kind == "question" {
            true => format!("{} asked", one.listener),
            false => format!("{} → {}", one.caller, one.listener),
        };
        DecisionRow {
            id: one.id.clone(),
            href: place(one.seq),
            outcome: one.decided(),
            at: layout::moment(one.moment(), now),
            time: one.at.clone(),
            parties,
            subject: shortened(&one.subject(), limits::WORDS),
            subject_href: place(one.record),
            hash: one.hash.clone(),
            sent: one.sent.clone().filter(|sent| *sent != one.hash),
            note: shortened(&plain(one.note.as_deref().unwrap_or_default()), limits::WORDS),
            ran: one.effect(),
            ran_href: one.ran.as_ref().and_then(|ran| ran.seq).map(place),
        }
    }
}
