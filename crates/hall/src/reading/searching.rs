//! Routes that search the whole log: messages by words and fields, and costs of a period.

use axum::Json;
use serde_json::{Value, json};

use super::query::QueryFields;
use super::refusals::{ReadFault, ReadRefusal, ReadResult};
use crate::limits;
use crate::log_view::LogMoment;
use crate::request_refusals::describe_unfit_address;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_log::search::{LogQuery, SearchFault, SearchField, SearchTerm};
use systole_organism::indexing::WRITABLE;
use systole_queries::narrate::as_json;
use systole_queries::search::{LogSearch, SearchFields, SearchHit, phrases};

/// The fields of a search.
pub(crate) const FIELDS: [&str; 13] = [
    "q", "element", "from", "to", "code", "kind", "client", "person", "since", "until", "thread", "before",
    "limit",
];

/// Messages by words and fields, newest first.
pub(crate) fn find_messages(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<Value>> {
    let limit = fields.limit(limits::ENTRIES, limits::MOST_ENTRIES)?;
    let query = asked_for(moment, fields)?;
    let before = fields.number("before")?.map(Position);
    search_in(moment, |search| {
        let (hits, next) = find_hits(moment, search, &query, before, limit)?;
        let hits: Vec<Value> = hits.iter().map(hit_json).collect();
        Ok(Json(json!({"hits": hits, "next": next})))
    })
}

/// What is asked for. A client without the role `read` asks only for its own conversations.
pub fn asked_for(moment: &LogMoment, fields: &QueryFields) -> ReadResult<LogQuery> {
    let phrases = phrases(fields.text("q").unwrap_or_default());
    if phrases.is_empty() && fields.text("q").is_some() {
        let refusal = describe_unfit_address("q: it has no letter and no digit");
        return Err(ReadRefusal::unfit(refusal.fixed_by("a word of the message")).into());
    }
    let named = SearchFields {
        element: fields.text("element"),
        from: fields.text("from"),
        to: fields.text("to"),
        code: fields.text("code"),
        kind: fields.text("kind"),
        client: fields.text("client"),
        person: fields.text("person"),
    };
    let mut terms = named.terms().map_err(|mistake| {
        let refusal =
            describe_unfit_address(format!("{} `{}`: {}", mistake.field, mistake.value, mistake.words));
        ReadRefusal::unfit(refusal.fixed_by(mistake.fix))
    })?;
    if let Some(thread) = fields.text("thread") {
        let thread = ThreadId::parse(thread).map_err(|_| ReadRefusal::unknown_thread())?;
        terms.push(SearchTerm::new(SearchField::Thread, thread.as_str()));
    }
    let (since, until) = fields.period(moment.now)?;
    if phrases.is_empty() && terms.is_empty() && since.is_none() && until.is_none() {
        let refusal = describe_unfit_address("nothing says which messages are wanted");
        return Err(ReadRefusal::unfit(refusal.fixed_by("q=WORD, or a filter as from=NAME")).into());
    }
    if !moment.sees_all {
        terms.push(SearchTerm::new(SearchField::Client, moment.client.as_str()));
    }
    Ok(LogQuery { phrases, terms, since, until })
}

/// The newest hits before a position, and the position after which older ones follow.
pub fn find_hits(
    moment: &LogMoment,
    search: &mut LogSearch<'_>,
    query: &LogQuery,
    before: Option<Position>,
    limit: usize,
) -> ReadResult<(Vec<SearchHit>, Option<u64>)> {
    let end = moment.at.map(|at| Position(at.0.saturating_add(1)));
    let before = before.into_iter().chain(end).min().unwrap_or(Position(u64::MAX));
    let (mut found, mut bytes, mut next, mut failed) = (Vec::<SearchHit>::new(), 0, None, None);
    search
        .newest_before(query, before, &mut |_, _| (), |hit| {
            // The search file covers the log of all clients; the client's reader has the last word.
            match sees(moment, &hit) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(fault) => {
                    failed = Some(fault);
                    return false;
                }
            }
            let (position, record) = &hit.placed;
            if found.len() == limit || (bytes > 0 && bytes + record.body.len() > limits::PART_BYTES) {
                return false;
            }
            bytes += record.body.len();
            next = Some(position.0);
            found.push(hit);
            true
        })
        .map_err(search_fault)
        .and_then(|more| match failed.take() {
            Some(fault) => Err(ReadFault::Log(fault)),
            None => Ok((found, next.filter(|_| more))),
        })
}

fn sees(moment: &LogMoment, hit: &SearchHit) -> Result<bool, systole_core::types::ports::LogFault> {
    let header = &hit.placed.1.header;
    Ok(moment.sees_all || !moment.reader.of_thread(&header.thread, header.seq, 1)?.is_empty())
}

fn hit_json(hit: &SearchHit) -> Value {
    let place = hit.at.as_ref().map(|at| json!([at.start, at.end]));
    json!({"record": as_json(hit.placed.0, &hit.placed.1), "text": hit.text, "match": place})
}

/// Passes on the messages that fit, newest first, up to the position of the moment, until `take` has enough.
pub(crate) fn found_in(
    moment: &LogMoment,
    query: &LogQuery,
    take: &mut dyn FnMut(SearchHit) -> bool,
) -> ReadResult<()> {
    let before = moment.at.map_or(Position(u64::MAX), |at| Position(at.0.saturating_add(1)));
    search_in(moment, |search| {
        let searched = search.newest_before(query, before, &mut |_, _| (), take);
        searched.map(drop).map_err(search_fault)
    })
}

/// Runs a search in the whole log. What is found is cut to the moment and the client afterwards: a search file
/// belongs to one log, whole. That of a log at rest is kept with the readings, and not beside the log.
pub fn search_in<T>(
    moment: &LogMoment,
    work: impl FnOnce(&mut LogSearch<'_>) -> ReadResult<T>,
) -> ReadResult<T> {
    let reader = &**moment.front.reader();
    if moment.front.at_rest().is_some() {
        let mut kept = moment.resting_search();
        let mut search = LogSearch::apart(kept.take(), reader, &mut |_, _| ()).map_err(search_fault)?;
        let found = work(&mut search);
        *kept = Some(search.into_file());
        return found;
    }
    let Some(log) = moment.front.log_file() else {
        let refusal = Refusal::new(Code::IngressUnavailable, "a log in memory cannot be searched");
        return Err(ReadRefusal::from(refusal.fixed_by("`log: {path: …}` in the organism's file")).into());
    };
    let mut search = LogSearch::open(log, reader, &mut |_, _| ()).map_err(search_fault)?;
    for why in &search.notes {
        tracing::warn!(why, fix = WRITABLE, "a search of a client takes longer than it has to");
    }
    work(&mut search)
}

pub(crate) fn search_fault(fault: SearchFault) -> ReadFault {
    match fault {
        SearchFault::Log(fault) => ReadFault::Log(fault),
        SearchFault::Stale(why) | SearchFault::Unwritable(why) => {
            tracing::error!(why, fix = WRITABLE, "the search file cannot be used for a client");
            let refusal = Refusal::new(Code::IngressUnavailable, "the search file cannot be used");
            ReadRefusal::from(refusal.fixed_by("systole doctor, where the log is")).into()
        }
    }
}
