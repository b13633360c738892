//! `decisions`: what persons decided in a period, newest request first.

use serde_json::value::{RawValue, to_raw_value};

use super::decision_lines::{csv, lines_of};
use super::{DecidedRequest, DecisionList, list};
use crate::arguments;
use crate::query::{
    ArgumentForm, ArgumentMistake, Flag, ItemCount, Query, QueryFault, QueryMoment, QueryPage, QueryRoute,
    QueryScope, TimePoint,
};
use systole_core::types::person::PersonRequestId;
use systole_core::types::time::Millis;
use systole_show::blocks::{Block, ListCell, ListRow, RowList};
use systole_show::columns::plain;
use systole_show::layout;

/// The columns of the page, each with its class.
const COLUMNS: [(&str, &str); 7] = [
    ("Request", "short"),
    ("Outcome", "short"),
    ("When", "short"),
    ("Between", "short"),
    ("What was decided about", "entry"),
    ("Note", "words"),
    ("What ran", "words labelled"),
];

arguments! {
    /// Which decisions are wanted.
    pub struct DecisionArguments {
        since: TimePoint => "Only decisions since then: 30d, 14:30, 2026-11-21",
        until: TimePoint => "Only decisions before then",
        before as Part: RequestNumber => "Only requests before this one, as a17",
        limit: ItemCount => "At most this many",
        csv as InPlaceOfJson: Flag => "Print a table for a spreadsheet",
    }
}

impl DecisionArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        ArgumentMistake::unless_after(("since", self.since), ("until", self.until))
    }
}

/// The id of a request.
pub enum RequestNumber {}

impl ArgumentForm for RequestNumber {
    type Value = PersonRequestId;
    const METAVAR: &'static str = "REQUEST";

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<PersonRequestId, QueryFault> {
        PersonRequestId::parse(typed).ok_or_else(|| {
            let words = "the id of a request is a and a number".to_owned();
            let examples = &["a17, the field `next` of the page before"];
            ArgumentMistake::Unfit { field, value: typed.to_owned(), words, examples }.into()
        })
    }
}

/// The question.
pub enum DecisionQuery {}

impl Query for DecisionQuery {
    const NAME: &'static str = "decisions";
    const ABOUT: &'static str = "Show what persons decided, and what ran after it";
    const EXAMPLES: &'static [&'static str] = &[
        "systole decisions",
        "systole decisions --since 30d --csv",
        "systole decisions --since 2026-10-01 --until 2026-11-01 --json",
    ];
    const ROUTES: &'static [QueryRoute] =
        &[QueryRoute { path: "/v1/decisions", fields: &["since", "until", "before", "limit"] }];
    const PAGE: Option<QueryPage> = Some(QueryPage {
        path: "/decisions",
        title: "Decisions",
        form: Some("Period"),
        without_requests: None,
    });
    const IS_LIVE: bool = true;
    const IS_OF_SYS: bool = true;
    type Arguments = DecisionArguments;
    type Answer = DecisionList;

    fn scope(_: &DecisionArguments) -> QueryScope {
        QueryScope::WholeLog("decisions over all threads are")
    }

    fn read(moment: &dyn QueryMoment, asked: &DecisionArguments) -> Result<DecisionList, QueryFault> {
        let list = list(moment.log(), asked, asked.limit.unwrap_or_else(|| moment.most()))?;
        Ok(DecisionList { now: moment.now(), is_sheet: asked.csv.is_some(), ..list })
    }

    fn blocks(answer: &DecisionList) -> Vec<Block> {
        if answer.is_sheet {
            return vec![Block::Sheet(csv(&answer.decisions))];
        }
        if answer.decisions.is_empty() {
            let words = match answer.next {
                Some(_) => "none of the newest requests is decided",
                None => "no person decided anything, and no request expired, in this period",
            };
            return vec![Block::Note(words.to_owned())];
        }
        let rows = answer.decisions.iter().map(|one| build_row(one, answer.now)).collect();
        vec![Block::List(RowList {
            label: "Decisions, newest request first",
            columns: COLUMNS.to_vec(),
            rows,
        })]
    }

    fn value(answer: &DecisionList) -> serde_json::Result<Box<RawValue>> {
        to_raw_value(answer)
    }

    fn next(answer: &DecisionList) -> Option<String> {
        answer.next.clone()
    }
}

fn build_row(one: &DecidedRequest, now: Millis) -> ListRow {
    let place = |seq: u64| (one.thread.clone(), seq);
    let parties = match one.kind == "question" {
        true => format!("{} asked", one.listener),
        false => format!("{} → {}", one.caller, one.listener),
    };
    let sent = one.sent.as_ref().filter(|sent| **sent != one.hash);
    let at = one.moment();
    let cells = vec![
        ListCell { record: Some(place(one.seq)), ..one.id.clone().into() },
        one.describe_decision().into(),
        ListCell { time: Some(at), ..layout::moment(at, now).into() },
        parties.into(),
        ListCell {
            record: Some(place(one.record)),
            beside: sent.map_or_else(|| one.hash.clone(), |sent| format!("{}, sent {sent}", one.hash)),
            ..one.subject().into()
        },
        plain(one.note.as_deref().unwrap_or_default()).into(),
        ListCell { record: one.ran.as_ref().and_then(|ran| ran.seq).map(place), ..one.effect().into() },
    ];
    ListRow { record: place(one.seq), cells, lines: lines_of(one, now) }
}
