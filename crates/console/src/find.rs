//! Search: messages by words and fields, newest first.
//!
//! Words and filters come in; records that fit go out, each with the text around the first word.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::command_line::quote_word;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{encode_part, shorten_text};
use crate::limits::{AFTER_WORD, BEFORE_WORD, ENTRIES};
use systole_core::types::ports::Position;
use systole_core::types::record::RecordCode;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_hall::reading::{asked_for, find_hits, search_in};
use systole_queries::glance::glance;
use systole_queries::narrate::as_json;
use systole_queries::search::SearchHit;
use systole_show::columns::plain;

/// The filters, each with its label.
const FILTERS: [(&str, &str); 10] = [
    ("element", "Element"),
    ("from", "From"),
    ("to", "To"),
    ("kind", "Kind"),
    ("code", "Code"),
    ("client", "Client"),
    ("person", "Person"),
    ("thread", "Thread"),
    ("since", "Since"),
    ("until", "Until"),
];

/// A hit.
struct HitRow {
    href: String,
    place: String,
    parties: String,
    what: String,
    before: String,
    word: String,
    after: String,
    ago: String,
    time: String,
}

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    frame: Frame,
    text: String,
    fields: Vec<(&'static str, &'static str, String)>,
    has_filter: bool,
    is_asked: bool,
    rows: Vec<HitRow>,
    older: Option<String>,
}

/// Shows what fits.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    let known: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).chain(["q", "before"]).collect();
    let is_asked = known.iter().any(|name| asked.value(name).is_some());
    let (hits, next, now) = asked
        .look(&known, move |moment, fields| {
            if !is_asked {
                return Ok((Vec::new(), None, moment.now));
            }
            let query = asked_for(moment, fields)?;
            let before = fields.number("before")?.map(Position);
            let (hits, next) =
                search_in(moment, |search| find_hits(moment, search, &query, before, ENTRIES))?;
            Ok((hits, next, moment.now))
        })
        .await?;
    if !asked.is_html {
        let hits: Vec<Value> = hits
            .iter()
            .map(|hit| json!({"record": as_json(hit.placed.0, &hit.placed.1), "text": hit.text}))
            .collect();
        return Ok(asked.json(&json!({"hits": hits, "next": next})));
    }
    Ok(render_page(&page(asked, is_asked, &hits, next, now)))
}

fn page(asked: &PageRequest, is_asked: bool, hits: &[SearchHit], next: Option<u64>, now: Millis) -> FindPage {
    let frame = asked.frame(PageTab::Find, "Find").with_command(command(asked));
    let value = |name: &str| asked.value(name).unwrap_or_default().to_owned();
    let fields: Vec<_> = FILTERS.iter().map(|(name, label)| (*name, *label, value(name))).collect();
    let older = next.map(|next| {
        let set =
            known_pairs(asked).into_iter().map(|(name, value)| format!("{name}={}&", encode_part(value)));
        frame.to(&format!("/find?{}before={next}", set.collect::<String>()))
    });
    FindPage {
        text: value("q"),
        has_filter: fields.iter().any(|(_, _, value)| !value.is_empty()),
        fields,
        is_asked,
        rows: hits.iter().map(|hit| row(&frame, hit, now)).collect(),
        older,
        frame,
    }
}

/// The words and filters that are set.
fn known_pairs(asked: &PageRequest) -> Vec<(&'static str, &str)> {
    let names = FILTERS.iter().map(|(name, _)| *name).chain(["q"]);
    names.filter_map(|name| Some((name, asked.value(name)?))).collect()
}

/// The same search as a command.
fn command(asked: &PageRequest) -> String {
    let words = asked.value("q").map(|words| {
        // Words that look like an option come behind all of them.
        let end = if words.starts_with('-') { "-- " } else { "" };
        format!(" {end}{}", quote_word(&plain(words)))
    });
    let options = asked.options(&FILTERS.map(|(name, _)| name));
    let parts = options + &words.unwrap_or_default();
    format!("systole find{}", if parts.is_empty() { " WORDS" } else { &parts })
}

fn row(frame: &Frame, hit: &SearchHit, now: Millis) -> HitRow {
    let record = &hit.placed.1;
    let h = &record.header;
    let seen = glance(&record.body);
    let (before, word, after) = match &hit.at {
        Some(at) => around(&hit.text, at.start, at.end),
        None => (shorten_text(&seen.words, BEFORE_WORD + AFTER_WORD), String::new(), String::new()),
    };
    HitRow {
        href: frame.to(&format!("/t/{}/{}", encode_part(h.thread.as_str()), h.seq)),
        place: format!("{}@{}", h.thread, h.seq),
        parties: h.to.as_ref().map_or_else(|| h.from.to_string(), |to| format!("{} → {to}", h.from)),
        what: format!("<{}> {}", seen.element, h.code.map_or(h.kind.as_str(), RecordCode::as_str)),
        before,
        word,
        after,
        ago: spell_duration(now.count_since(h.time)),
        time: h.time.to_string(),
    }
}

/// The text around a word, made visible in three parts.
fn around(text: &str, start: usize, end: usize) -> (String, String, String) {
    let cut = |part: Option<&str>| part.unwrap_or_default().to_owned();
    let (before, word, after) = (cut(text.get(..start)), cut(text.get(start..end)), cut(text.get(end..)));
    let lead = before.chars().count().saturating_sub(BEFORE_WORD);
    let shown: String = before.chars().skip(lead).collect();
    let dots = if lead > 0 { "…" } else { "" };
    let rest: String = after.chars().take(AFTER_WORD).collect();
    let more = if rest.len() < after.len() { "…" } else { "" };
    // A blank at the edge of a part is kept: `plain` would drop it.
    let space = |text: &str, is_last: bool| {
        let edge = if is_last { text.chars().last() } else { text.chars().next() };
        if edge.is_some_and(char::is_whitespace) { " " } else { "" }
    };
    let before = format!("{dots}{}{}", plain(&shown), space(&shown, true));
    let after = format!("{}{}{more}", space(&rest, false), plain(&rest));
    (before, plain(&word), after)
}

#[cfg(test)]
mod tests {
    use super::around;

    #[test]
    fn the_text_around_a_word_is_cut_and_hidden_characters_are_shown() {
        let text = format!("{} a\u{202e} word, then {}", "x".repeat(200), "y".repeat(300));
        let at = text.find("word").unwrap();
        let (before, word, after) = around(&text, at, at + 4);
        assert!(before.starts_with('…') && before.ends_with("a\\u{202e} "), "{before}");
        assert_eq!(word, "word");
        assert!(after.starts_with(", then y") && after.ends_with('…'), "{after}");
    }
}
