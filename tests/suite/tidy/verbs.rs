//! Functions begin with a verb of `verbs.txt`, and getters are nouns. The crates in `FINISHED` follow the rule; a crate
//! joins the list with the change that names its last function.

use super::rust::{code_of, line_of};
use super::{Source, hold, sources};

const VERBS: &str = include_str!("verbs.txt");
const LIST: &str = "tests/suite/tidy/verbs.txt";

/// More verbs mean several words for one thing.
const MOST_VERBS: usize = 150;

/// The crates whose functions all follow the rule.
const FINISHED: [&str; 8] = [
    "crates/bus",
    "crates/folder",
    "crates/http",
    "crates/judge",
    "crates/proof",
    "crates/sandbox",
    "crates/system",
    "crates/witness",
];

/// Past participles without -ed that names had. As the name of a getter they say neither what nor whether.
const PARTICIPLES: [&str; 20] = [
    "built", "chosen", "done", "found", "given", "gone", "heard", "held", "kept", "known", "left", "lost",
    "made", "meant", "said", "seen", "sent", "shown", "taken", "told",
];

fn is_participle(word: &str) -> bool {
    let is_regular = word.ends_with("ed") && !word.ends_with("eed") && word.len() > "shed".len();
    is_regular || PARTICIPLES.contains(&word)
}

/// What is wrong with the name of a function, if anything is. `parameters` is the text between its brackets.
fn find_fault(name: &str, parameters: &str) -> Option<String> {
    let name = name.trim_matches('_');
    let first = name.split('_').next().unwrap_or(name);
    let mut of_self = parameters.trim().trim_start_matches('&').rsplit(' ');
    let is_getter = of_self.next() == Some("self") && of_self.all(|word| word.starts_with('\''));
    if is_getter && !name.contains('_') && is_participle(name) {
        return Some(format!("a getter is a noun; name what `{name}` returns, or ask with `is_{name}`"));
    }
    let is_verb = VERBS.lines().any(|verb| verb == first);
    let is_fine = is_verb || is_getter || name == "main";
    (!is_fine)
        .then(|| format!("`{name}` begins with no verb of {LIST}; rename it, for example to `find_{name}`"))
}

/// The functions of a file outside its tests that no foreign trait names: position, name, and text between the brackets.
fn list_functions(code: &str) -> Vec<(usize, &str, &str)> {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or(code);
    let (mut found, mut at, mut trait_ends) = (Vec::new(), 0, None);
    for line in code.split_inclusive('\n') {
        let here = at;
        at += line.len();
        let (indent, words) = (line.len() - line.trim_start().len(), line.trim());
        if let Some(end) = trait_ends {
            if indent == end && words == "}" {
                trait_ends = None;
            }
            continue;
        }
        if words.starts_with("impl") {
            let header = code[here..].split('{').next().unwrap_or_default();
            let is_of_trait = header.split_whitespace().any(|word| word == "for");
            trait_ends = (is_of_trait && !words.ends_with('}')).then_some(indent);
            continue;
        }
        let Some(start) =
            words.strip_prefix("fn ").map(|_| 0).or(words.find(" fn ").map(|before| before + 1))
        else {
            continue;
        };
        let name_at = here + indent + start + "fn ".len();
        let name =
            code[name_at..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let brackets = code[name_at..].split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        if let Some((parameters, _)) = brackets.filter(|_| !name.is_empty()) {
            found.push((name_at, name, parameters));
        }
    }
    found
}

fn list_faults(source: &Source) -> Vec<String> {
    let code = code_of(&source.text);
    let faults = list_functions(&code).into_iter().filter_map(|(at, name, parameters)| {
        let fault = find_fault(name, parameters)?;
        Some(format!("{}:{}: {fault}", source.path, line_of(&source.text, at)))
    });
    faults.collect()
}

#[test]
fn every_function_of_a_finished_crate_begins_with_a_verb() {
    let is_finished = |source: &&Source| {
        FINISHED.iter().any(|folder| source.path.starts_with(&format!("{folder}/src/")))
            && !source.text.contains("#![cfg(test)]")
    };
    let sources = sources();
    let faults: Vec<String> = sources.iter().filter(is_finished).flat_map(list_faults).collect();
    hold("the name of a function", &faults);
}

#[test]
fn the_list_of_verbs_is_sorted_and_short() {
    let verbs: Vec<&str> = VERBS.lines().collect();
    assert!(verbs.is_sorted_by(|one, next| one < next), "sort {LIST}; each verb is there once");
    assert!(verbs.len() <= MOST_VERBS, "{LIST} has {} verbs, {MOST_VERBS} at most", verbs.len());
}

#[test]
fn a_name_without_a_verb_is_found_with_its_line() {
    let text = "//! Header.\npub fn read_all() {}\nfn frobbed(x: u8) {}\nimpl Display for A {\n    fn fmt(&self) {}\n}\n\
                impl A {\n    fn size(&self) -> u8 {}\n    pub(crate) async fn told(&self) {}\n    fn part(&mut self) {}\n\
                \x20   const fn whole<'a>(&'a self) {}\n}\ntrait T {\n    fn shout(&self, to: u8);\n}\nfn main() {}\n\
                #[cfg(test)]\nmod tests {\n    fn helper() {}\n}\n";
    let faults = list_faults(&Source { path: "a.rs".to_owned(), text: text.to_owned() });
    let starts =
        ["a.rs:3: `frobbed` begins", "a.rs:9: a getter", "a.rs:10: `part` begins", "a.rs:14: `shout` begins"];
    assert_eq!(faults.len(), starts.len(), "{faults:?}");
    assert!(faults.iter().zip(starts).all(|(fault, start)| fault.starts_with(start)), "{faults:?}");
}
