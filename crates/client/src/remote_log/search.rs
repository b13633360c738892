//! A search in the log of an organism elsewhere: the organism says where the hits are, and each record is read and
//! verified like every other one.

use serde::Deserialize;
use serde_json::Value;

use super::{RemoteLog, RouteFields};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader as _, Position};
use systole_core::types::time::Millis;
use systole_log::search::{LogQuery, SearchField, SearchTerm};
use systole_queries::search::SearchHit;

#[derive(Deserialize)]
struct HitPage {
    hits: Vec<ListedHit>,
    next: Option<u64>,
}

#[derive(Deserialize)]
struct ListedHit {
    record: HitPlace,
    text: String,
    #[serde(rename = "match")]
    place: Option<(usize, usize)>,
}

#[derive(Deserialize)]
struct HitPlace {
    position: u64,
    thread: String,
    seq: u64,
}

impl RemoteLog {
    /// Shows the messages that fit, newest first, until `show` has enough. Returns whether more may follow.
    pub fn search_newest(
        &self,
        query: &LogQuery,
        show: &mut dyn FnMut(SearchHit) -> bool,
    ) -> Result<bool, LogFault> {
        let mut before = None;
        loop {
            let mut fields = build_fields(query);
            fields.push(("limit", crate::limits::ENTRIES.to_string()));
            fields.extend(before.map(|before: u64| ("before", before.to_string())));
            let page: HitPage = self.ask_route("/v1/find", fields)?;
            for hit in page.hits {
                if !show(self.read_hit(hit)?) {
                    return Ok(true);
                }
            }
            match page.next {
                Some(next) if before.is_none_or(|before| next < before) => before = Some(next),
                _ => return Ok(false),
            }
        }
    }

    /// A part of the list of threads, as `GET /v1/threads` answers it.
    pub fn list_part(&self, fields: RouteFields) -> Result<Value, LogFault> {
        self.ask_route("/v1/threads", fields)
    }

    /// A thread with what it waits for, as `GET /v1/threads/ID` answers it.
    pub fn describe_thread(&self, id: &ThreadId) -> Result<Value, LogFault> {
        self.ask_route(&format!("/v1/threads/{id}"), Vec::new())
    }

    fn read_hit(&self, hit: ListedHit) -> Result<SearchHit, LogFault> {
        let ListedHit { record: HitPlace { position, thread, seq }, text, place } = hit;
        let thread = ThreadId::parse(&thread).map_err(|error| self.report_strange(&error.to_string()))?;
        let found = self.of_thread(&thread, seq, 1)?.pop();
        let is_it = |at: &Position, number: u64| at.0 == position && number == seq;
        let Some(placed) = found.filter(|(at, record)| is_it(at, record.header.seq)) else {
            return Err(self.report_strange("it found a record that it does not have"));
        };
        let at = place.map(|(start, end)| start..end).filter(|at| text.get(at.clone()).is_some());
        Ok(SearchHit { placed, text, at })
    }
}

/// A query as the route takes it.
fn build_fields(query: &LogQuery) -> RouteFields {
    let named = |SearchTerm { field, value }: &SearchTerm| {
        let name = match field {
            SearchField::Element => "element",
            SearchField::From => "from",
            SearchField::To => "to",
            SearchField::Code => "code",
            SearchField::Kind => "kind",
            SearchField::Thread => "thread",
            SearchField::Client => "client",
            SearchField::Person => "person",
        };
        (name, value.clone())
    };
    let mut fields: RouteFields = query.terms.iter().map(named).collect();
    if !query.phrases.is_empty() {
        let quoted: Vec<String> =
            query.phrases.iter().map(|words| format!("\"{}\"", words.join(" "))).collect();
        fields.push(("q", quoted.join(" ")));
    }
    // The route wants at least one field; everything is since the beginning of time.
    let since = query.since.or(fields.is_empty().then_some(Millis(0)));
    fields.extend(since.map(|since| ("since", since.to_string())));
    fields.extend(query.until.map(|until| ("until", until.to_string())));
    fields
}
