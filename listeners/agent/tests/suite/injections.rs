//! The red team's text: one injection per line in `corpus/injections.jsonl`, with the mark of the call if the
//! attacker knows it.

use serde::Deserialize;

use crate::stage::MARK;

const CORPUS: &str = include_str!("corpus/injections.jsonl");

/// An injection.
#[derive(Clone, Debug)]
pub(crate) struct Injection {
    pub(crate) name: String,
    pub(crate) text: String,
}

#[derive(Deserialize)]
struct Written {
    name: String,
    text: String,
    times: Option<usize>,
}

/// All injections.
pub(crate) fn all() -> Vec<Injection> {
    let (first, second) = MARK.split_at(4);
    let read = |line: &str| {
        let written: Written = serde_json::from_str(line).expect("a line is an injection");
        let text = written.text.replace("{MARK}", MARK).replace("{MARKUP}", &MARK.to_uppercase());
        let text = text.replace("{MARK1}", first).replace("{MARK2}", second);
        Injection { name: written.name, text: text.repeat(written.times.unwrap_or(1)) }
    };
    CORPUS.lines().map(read).collect()
}

#[test]
fn e14_the_corpus_has_at_least_sixty_and_each_is_another() {
    let all = all();
    let names: std::collections::BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let texts: std::collections::BTreeSet<&str> = all.iter().map(|one| one.text.as_str()).collect();
    assert!(all.len() >= 60, "{}", all.len());
    assert_eq!((names.len(), texts.len()), (all.len(), all.len()));
}
