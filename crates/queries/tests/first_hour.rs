//! The question of `docs/first-hour.md`: who said most. A test of the root package writes this code into the page.

use std::collections::BTreeMap;

use serde::Serialize;
use systole_core::types::ports::Position;
use systole_queries::arguments;
use systole_queries::query::{
    ArgumentMistake, PartyName, Query, QueryFault, QueryMoment, QueryPage, QueryRoute, QueryScope,
};
use systole_show::blocks::{Block, Fact, FactColumn, FactRow, FactTable};

arguments! {
    /// Whose messages count.
    pub struct BusiestArguments {
        to: PartyName => "Only messages to this listener",
    }
}

impl BusiestArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        Ok(())
    }
}

/// How often each party spoke.
#[derive(Serialize)]
pub struct BusiestAnswer {
    spoke: BTreeMap<String, u64>,
}

/// The question.
pub enum BusiestQuery {}

impl Query for BusiestQuery {
    const NAME: &'static str = "busiest";
    const ABOUT: &'static str = "Show how often each listener and client spoke";
    const EXAMPLES: &'static [&'static str] = &["systole busiest", "systole busiest --to greeter --json"];
    const ROUTES: &'static [QueryRoute] = &[QueryRoute { path: "/v1/busiest", fields: &["to"] }];
    const PAGE: Option<QueryPage> = Some(QueryPage {
        path: "/busiest",
        title: "Busiest",
        form: Some("Messages"),
        without_requests: None,
    });
    type Arguments = BusiestArguments;
    type Answer = BusiestAnswer;

    fn scope(_: &BusiestArguments) -> QueryScope {
        QueryScope::Own
    }

    fn read(moment: &dyn QueryMoment, asked: &BusiestArguments) -> Result<BusiestAnswer, QueryFault> {
        let mut spoke = BTreeMap::new();
        for record in moment.log().records_after(Position(0)) {
            let header = record?.1.header;
            let to = header.to.map(|to| to.to_string());
            if to.is_some() && (asked.to.is_none() || asked.to == to) {
                *spoke.entry(header.from.to_string()).or_default() += 1;
            }
        }
        Ok(BusiestAnswer { spoke })
    }

    fn blocks(answer: &BusiestAnswer) -> Vec<Block> {
        let row = |(name, times): (&String, &u64)| FactRow {
            names: vec![name.clone()],
            facts: vec![Fact { value: times.to_string(), words: format!("spoke {times} times") }],
        };
        let facts = vec![FactColumn { title: "Messages", is_number: true }];
        let rows = answer.spoke.iter().map(row).collect();
        vec![Block::Table(FactTable { names: vec!["party"], facts, rows, sum: None })]
    }
}

// The page ends here.

use std::sync::Arc;

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::time::Millis;
use systole_log::search::LogQuery;
use systole_queries::finding::NotFound;
use systole_queries::log_state::LogState;
use systole_queries::picture::ReadSteps;
use systole_queries::query::{AskIndex, row};
use systole_queries::runs::ReadStep;
use systole_queries::search::SearchHit;

/// A log of the fixtures, all of it.
struct WholeLog(systole_log::sqlite::SqliteReader);

impl QueryMoment for WholeLog {
    fn log(&self) -> &dyn LogReader {
        &self.0
    }

    fn now(&self) -> Millis {
        Millis(0)
    }

    fn state(&self) -> Result<Arc<LogState>, QueryFault> {
        Err(QueryFault::Unfound(NotFound::Empty))
    }

    fn ask_index(&self, _: AskIndex<'_>) -> Result<(), QueryFault> {
        Err(QueryFault::Unfound(NotFound::Empty))
    }

    fn steps(&self) -> ReadStep<'static> {
        &|_, _| None
    }

    fn read_declared(&self) -> ReadSteps<'static> {
        &|_| None
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn thread(&self, _: &str) -> Result<ThreadId, QueryFault> {
        Err(QueryFault::Unfound(NotFound::Empty))
    }

    fn newest(&self, _: &LogQuery, _: &mut dyn FnMut(SearchHit) -> bool) -> Result<(), QueryFault> {
        Ok(())
    }
}

#[test]
fn who_spoke_is_counted_for_programs_and_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.db");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/log-v3-threads.db"), &log)
        .unwrap();
    let moment = WholeLog(systole_log::sqlite::open_reading(&log).unwrap());
    let question = row::<BusiestQuery>();
    let all = (question.ask)(&moment, &|_| None).unwrap();
    let value: serde_json::Value = serde_json::from_str(all.value.get()).unwrap();
    let spoke = value["spoke"].as_object().unwrap();
    assert!(spoke.len() > 1, "{spoke:?}");
    let lines = all.blocks[0].lines();
    assert_eq!(lines.len(), spoke.len(), "{lines:?}");
    let (name, times) = spoke.iter().next().unwrap();
    assert_eq!(lines[0], format!("{name}  spoke {times} times"));
    // Of one listener there are fewer, and a name that is none is refused.
    let one = (question.ask)(&moment, &|field| (field == "to").then(|| "stranger".to_owned())).unwrap();
    assert_eq!(one.value.get(), r#"{"spoke":{}}"#);
    let refused = (question.ask)(&moment, &|_| Some("two words".to_owned()));
    assert!(matches!(refused, Err(QueryFault::Mistake(_))));
}
