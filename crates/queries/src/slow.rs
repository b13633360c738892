//! `slow`: what took long, by listener or model: how many calls or requests, how many of them failed, how long they took,
//! and the slowest.
//!
//! A call counts in the hour in which it ended, with all that it waited for; a request to a model in the hour in which it
//! began. So a period is one of whole hours.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments;
use crate::index::{FAILED, UNKNOWN};
use crate::limits::HOUR_MS;
use crate::query::{
    ArgumentForm, ArgumentMistake, FreeText, PartyName, Query, QueryFault, QueryMoment, QueryPage,
    QueryRoute, TimePoint,
};
use systole_core::types::time::spell_duration;
use systole_log::index::{HourKey, HourSum, IndexFault, IndexFile, SlowRow, SumSelection};
use systole_log::limits::SLOWEST;
use systole_show::blocks::{Block, Fact, FactColumn, FactRow, FactTable, ListRow, RowList};
use systole_show::columns::{counted, plain};

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowGroup {
    /// The calls of each listener.
    #[default]
    Listener,
    /// The requests to each model.
    Model,
}

impl ArgumentForm for SlowGroup {
    type Value = SlowGroup;
    const METAVAR: &'static str = "GROUP";
    const CHOICES: &'static [&'static str] = &["listener", "model"];

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<SlowGroup, QueryFault> {
        match typed {
            "listener" => Ok(SlowGroup::Listener),
            "model" => Ok(SlowGroup::Model),
            _ => Err(ArgumentMistake::not_one_of(field, typed, SlowGroup::CHOICES).into()),
        }
    }
}

arguments! {
    /// Which calls count, and how they are grouped.
    pub struct SlowArguments {
        by: SlowGroup => "The calls of each listener, or the requests to each model",
        since: TimePoint => "Only from the hour of this moment on: 7d, 14:30, 2026-10-01",
        until: TimePoint => "Only before the hour of this moment",
        listener: PartyName => "Only the calls of this listener, or its requests to models",
        model: FreeText => "Only the requests to this model",
    }
}

impl SlowArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        ArgumentMistake::unless_after(("since", self.since), ("until", self.until))
    }

    fn group(&self) -> SlowGroup {
        self.by.unwrap_or(if self.model.is_some() { SlowGroup::Model } else { SlowGroup::Listener })
    }

    fn select(&self, own: Option<&str>) -> SumSelection {
        SumSelection {
            since: self.since.map(|since| since.0 / HOUR_MS),
            until: self.until.map(|until| until.0 / HOUR_MS),
            client: own.map(str::to_owned),
            listener: self.listener.clone(),
            of_models: self.group() == SlowGroup::Model || self.model.is_some(),
            model: self.model.clone(),
        }
    }
}

/// The question.
pub enum SlowQuery {}

/// What took long.
#[derive(Serialize, Default)]
pub struct SlowAnswer {
    /// What is listed.
    by: &'static str,
    /// A row for each listener or model, those that took longest together first.
    rows: Vec<SlowSum>,
    /// The slowest of all.
    slowest: Vec<SlowCall>,
    /// Up to which record the index was made; null for a client that may not see every record.
    index: Value,
}

/// The calls of a listener, or the requests to a model.
#[derive(Serialize)]
struct SlowSum {
    name: String,
    count: u64,
    failures: u64,
    /// Requests without a result, which count in no time.
    unknown: u64,
    mean_ms: u64,
    longest_ms: u64,
    #[serde(skip)]
    took: u64,
}

/// One of the slowest.
#[derive(Serialize)]
struct SlowCall {
    listener: String,
    model: Option<String>,
    took_ms: u64,
    outcome: String,
    thread: String,
    /// The number of the record with its end.
    seq: u64,
}

impl Query for SlowQuery {
    const NAME: &'static str = "slow";
    const ABOUT: &'static str = "Show which listeners or models take long";
    const EXAMPLES: &'static [&'static str] = &[
        "systole slow",
        "systole slow --by model --since 7d",
        "systole slow --listener writer --json",
        "systole slow --at 120",
    ];
    const ROUTES: &'static [QueryRoute] =
        &[QueryRoute { path: "/v1/slow", fields: &["by", "since", "until", "listener", "model"] }];
    const PAGE: Option<QueryPage> = Some(QueryPage {
        path: "/slow",
        title: "Slow",
        form: Some("Period and groups"),
        without_requests: None,
    });
    type Arguments = SlowArguments;
    type Answer = SlowAnswer;

    fn read(moment: &dyn QueryMoment, asked: &SlowArguments) -> Result<SlowAnswer, QueryFault> {
        let mut answer = SlowAnswer::default();
        moment.ask_index(&mut |index, own| {
            answer = read_sums(index, asked, own)?;
            Ok(())
        })?;
        Ok(answer)
    }

    fn blocks(answer: &SlowAnswer) -> Vec<Block> {
        if answer.rows.is_empty() {
            return vec![Block::Note(format!("no {} was asked in this period", answer.by))];
        }
        let facts =
            ["Calls", "Failures", "Mean", "Longest"].map(|title| FactColumn { title, is_number: true });
        let rows = answer.rows.iter().map(SlowSum::build_row).collect();
        let table = FactTable { names: vec![answer.by], facts: facts.into(), rows, sum: None };
        let columns = ["took", "listener", "model", "outcome", "thread"].map(|title| (title, "")).into();
        let slowest = answer.slowest.iter().map(SlowCall::build_row).collect();
        vec![Block::Table(table), Block::List(RowList { label: "The slowest", columns, rows: slowest })]
    }
}

fn read_sums(index: &IndexFile, asked: &SlowArguments, own: Option<&str>) -> Result<SlowAnswer, IndexFault> {
    let (selection, group) = (asked.select(own), asked.group());
    let mut sums = BTreeMap::<String, SlowSum>::new();
    for (key, sum) in index.list_sums(&selection)? {
        let name = if group == SlowGroup::Model { &key.model } else { &key.listener };
        let row = sums.entry(name.clone()).or_insert_with(|| SlowSum::new(name.clone()));
        row.add(&key, &sum);
    }
    let mut rows: Vec<SlowSum> = sums.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.took));
    let slowest = index.list_slowest(&selection, SLOWEST)?.into_iter().map(SlowCall::from).collect();
    let end = if own.is_none() { index.read_end()? } else { None };
    let end = end.map(|end| json!({"position": end.position.0, "leaf": end.leaf.to_string()}));
    let by = if group == SlowGroup::Model { "model" } else { "listener" };
    Ok(SlowAnswer { by, rows, slowest, index: end.unwrap_or_default() })
}

impl SlowSum {
    fn new(name: String) -> SlowSum {
        SlowSum { name, count: 0, failures: 0, unknown: 0, mean_ms: 0, longest_ms: 0, took: 0 }
    }

    fn add(&mut self, key: &HourKey, sum: &HourSum) {
        let count = u64::try_from(sum.count).unwrap_or(0);
        self.count = self.count.saturating_add(count);
        match key.outcome.as_str() {
            FAILED => self.failures += count,
            UNKNOWN => self.unknown += count,
            _ => {}
        }
        self.took = self.took.saturating_add(u64::try_from(sum.took).unwrap_or(0));
        self.longest_ms = self.longest_ms.max(u64::try_from(sum.longest).unwrap_or(0));
        self.mean_ms = self.took.checked_div(self.count - self.unknown).unwrap_or(0);
    }

    fn build_row(&self) -> FactRow {
        let fact = |value: String, words: String| Fact { value, words };
        let (mean, longest) = (spell_duration(self.mean_ms), spell_duration(self.longest_ms));
        let said =
            |count: u64, words: &str| if count > 0 { format!("{count} {words}") } else { String::new() };
        let unknown = said(self.unknown, "without a result");
        let failed = [said(self.failures, "failed"), unknown];
        let failed: Vec<String> = failed.into_iter().filter(|words| !words.is_empty()).collect();
        FactRow {
            names: vec![self.name.clone()],
            facts: vec![
                fact(self.count.to_string(), counted(self.count, "call")),
                fact(self.failures.to_string(), failed.join(", ")),
                fact(mean.clone(), format!("{mean} on average")),
                fact(longest.clone(), format!("{longest} at most")),
            ],
        }
    }
}

impl From<SlowRow> for SlowCall {
    fn from(row: SlowRow) -> SlowCall {
        let HourKey { listener, model, outcome, .. } = row.key;
        let model = (!model.is_empty()).then_some(model);
        SlowCall { listener, model, took_ms: row.took, outcome, thread: row.thread, seq: row.seq }
    }
}

impl SlowCall {
    fn build_row(&self) -> ListRow {
        let took = spell_duration(self.took_ms);
        let model = self.model.clone().unwrap_or_default();
        let who = if model.is_empty() { self.listener.clone() } else { format!("{} {model}", self.listener) };
        let line = format!("{took}  {}  {}  {}@{}", plain(&who), self.outcome, self.thread, self.seq);
        let texts = [took, self.listener.clone(), model, self.outcome.clone(), self.thread.clone()];
        ListRow {
            record: (self.thread.clone(), self.seq),
            cells: texts.into_iter().map(Into::into).collect(),
            lines: vec![line],
        }
    }
}
