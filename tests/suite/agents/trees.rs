//! A tree of agents under one budget: a parent lets two children think at once, and there is room for one of them.
//! The second child is refused before its model is asked, and at most one answer exceeds the limit.

use std::collections::BTreeMap;

use systole_core::types::ids::ThreadId;
use systole_core::types::record::Record;
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome, ModelStarted};

use super::house::{AgentHouse, AgentPlan, Critic};

/// The parent's answers: two children, and a wait for both; then its final.
const PARENT: &str = r#"
- {say: "<thinking>Both.</thinking><spawn-thread suggested_sub_id=\"one\"><initial-payload><ask>One?</ask></initial-payload></spawn-thread><spawn-thread suggested_sub_id=\"two\"><initial-payload><ask>Two?</ask></initial-payload></spawn-thread><await-threads mode=\"all\"/>", usage: {in: 1000, out: 100}}
- {say: "<thinking>So.</thinking><attempt_completion><result>Done.</result></attempt_completion>", usage: {in: 1000, out: 100}, times: always}
"#;

/// The answer of a child's model: it uses nearly all of its reserve.
const CHILD: &str = "[{say: It is so., usage: {in: 300, out: 2700}, times: always}]";

/// The events of one thread, in order.
struct Of {
    thread: ThreadId,
    records: Vec<Record>,
}

impl Of {
    fn entries(&self) -> impl Iterator<Item = JournalEntry> {
        self.records.iter().filter_map(|record| Some(EarlierEntry::from_body(&record.body).ok()?.entry))
    }

    fn starts(&self) -> Vec<ModelStarted> {
        let start = |entry| match entry {
            JournalEntry::Started(started) => Some(started),
            JournalEntry::Result(_) => None,
        };
        self.entries().filter_map(start).collect()
    }

    fn results(&self) -> Vec<ModelCallOutcome> {
        let result = |entry| match entry {
            JournalEntry::Result(outcome) => Some(outcome),
            JournalEntry::Started(_) => None,
        };
        self.entries().filter_map(result).collect()
    }

    /// The place of the first record that matches.
    fn first(&self, is_it: impl Fn(&Record) -> bool) -> Option<usize> {
        self.records.iter().position(is_it)
    }

    fn told_before_any_start(&self, code: &str) -> bool {
        let told = self.first(|record| String::from_utf8_lossy(&record.body).contains(code));
        let start = self.first(|record| {
            matches!(
                EarlierEntry::from_body(&record.body),
                Ok(EarlierEntry { entry: JournalEntry::Started(_), .. })
            )
        });
        told.is_some_and(|told| start.is_none_or(|start| told < start))
    }
}

fn threads(house: &AgentHouse) -> Vec<Of> {
    let mut threads: BTreeMap<ThreadId, Vec<Record>> = BTreeMap::new();
    for record in house.records() {
        threads.entry(record.header.thread.clone()).or_default().push(record);
    }
    threads.into_iter().map(|(thread, records)| Of { thread, records }).collect()
}

/// An amount that was used or reserved.
struct Measure {
    what: &'static str,
    budget: &'static str,
    limit: u64,
    kept: fn(&ModelStarted) -> u64,
    used: fn(&ModelCallOutcome) -> u64,
}

const MEASURES: [Measure; 2] = [
    Measure {
        what: "budget.tokens",
        budget: "budgets: {tokens: 6000}",
        limit: 6_000,
        kept: |started| started.reserve_tokens.unwrap(),
        used: |outcome| outcome.count_tokens().unwrap(),
    },
    Measure {
        what: "budget.money",
        budget: "budgets: {money: '0.06 USD'}",
        limit: 60_000,
        kept: |started| started.reserve_money.unwrap().micros,
        used: |outcome| outcome.money.unwrap().micros,
    },
];

#[test]
fn b15_in_a_tree_of_agents_the_second_child_is_told_before_its_model_is_asked() {
    for Measure { what, budget, limit, kept, used } in &MEASURES {
        let price = ", max_output: 3000, price: {in: 3, out: 15, per: 1M, currency: USD}";
        let agent = ", actions: many, turns: 6";
        let critic = Critic { replies: CHILD, acts: "dialect: plain, share: 95%", model: price };
        let plan = AgentPlan { dialect: "xml", replies: PARENT, critic, agent, ..AgentPlan::default() };
        let plan = AgentPlan { model: ", max_output: 500", rest: budget, ..plan };
        let house = AgentHouse::build(&plan);
        let ran = house.ask("Where is the moon?");
        let words = format!("{what}: {ran:?}\n{}", house.told());
        let threads = threads(&house);
        let child = |label: &str| {
            let found = threads.iter().find(|of| of.thread.as_str().ends_with(&format!(".{label}")));
            found.unwrap_or_else(|| panic!("no child {label}: {words}"))
        };
        let (one, two) = (child("one"), child("two"));
        let told = [one, two].into_iter().filter(|child| child.told_before_any_start(what)).count();
        assert_eq!(told, 1, "one of them is told before it starts: {words}");

        let starts: Vec<ModelStarted> = threads.iter().flat_map(Of::starts).collect();
        let results: Vec<ModelCallOutcome> = threads.iter().flat_map(Of::results).collect();
        assert_eq!((starts.len(), results.len()), (house.mock.seen().len(), starts.len()), "{words}");
        // Both at once would have been too much; each alone is not.
        let child_start = &one.starts().into_iter().chain(two.starts()).next().unwrap();
        let parent: u64 = used(&results[0]);
        assert!(parent + kept(child_start) <= *limit && parent + 2 * kept(child_start) > *limit, "{words}");
        // The total use, and the part beyond the limit: at most one answer.
        let all: u64 = results.iter().map(used).sum();
        let most = results.iter().map(used).max().unwrap();
        assert!(all > *limit && all - most < *limit, "{all} of {limit}: {words}");
        house.judged();
    }
}
