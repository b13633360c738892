//! Holds that the pages answer the questions of users. Each row of `docs/questions.txt` has a question, a page and the
//! fact that answers it, and the page has that fact. Rows are added and never removed, so a rewrite of the pages loses
//! no fact of the list.

use std::collections::HashSet;
use std::fs;

const LIST: &str = "docs/questions.txt";
const CONTENTS: &str = "docs/SUMMARY.md";

/// The number of rows. It only grows.
const QUESTIONS: usize = 213;
/// The number of rows with which the list began.
const FIRST_QUESTIONS: usize = 200;

/// Characters of a fact. A shorter one could stand in a page by chance, and a longer one is wording.
const SHORTEST_FACT: usize = 12;
const LONGEST_FACT: usize = 90;

struct QuestionRow<'a> {
    /// The number of its line in the list.
    line: usize,
    /// Counted from 1, without comments and empty lines.
    number: usize,
    text: &'a str,
}

/// The rows of a list, without comments and empty lines.
fn read_rows(list: &str) -> Vec<QuestionRow<'_>> {
    let lines = list.lines().enumerate();
    let is_row = |text: &str| !text.trim().is_empty() && !text.starts_with('#');
    let rows = lines.filter(|(_, text)| is_row(text)).enumerate();
    rows.map(|(at, (line, text))| QuestionRow { line: line + 1, number: at + 1, text }).collect()
}

/// A text with each run of white space as one blank, so that a fact may be broken over lines.
fn fold_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the table of contents links a page, or the page is the README, which the site has first.
fn is_listed(page: &str, contents: &str) -> bool {
    let link = page.strip_prefix("docs/").map_or_else(|| format!("../{page}"), str::to_owned);
    ["README.md", "CONTRIBUTING.md"].contains(&page) || contents.contains(&format!("]({link})"))
}

/// What is wrong with the fields of a row, and what to do about it.
fn check_row(text: &str, contents: &str, read_page: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let fields: Vec<&str> = text.split(" | ").collect();
    let [question, page, fact] = fields[..] else {
        return Some(format!("{text}\n    is not: question | page | fact; write three fields"));
    };
    let about = format!("{question}\n    page: {page}\n    fact: {fact}\n   ");
    let length = fact.chars().count();
    if question.is_empty() || fact != fold_spaces(fact) {
        return Some(format!("{about} write a question, and the fact with single blanks"));
    }
    if !(SHORTEST_FACT..=LONGEST_FACT).contains(&length) {
        return Some(format!(
            "{about} the fact has {length} characters; choose {SHORTEST_FACT} to {LONGEST_FACT}"
        ));
    }
    if !is_listed(page, contents) {
        return Some(format!("{about} {CONTENTS} does not link the page; name one that it links"));
    }
    let Some(whole) = read_page(page) else {
        return Some(format!("{about} there is no such page; name the page that has the fact now"));
    };
    let is_there = fold_spaces(&whole).contains(fact);
    (!is_there).then(|| {
        format!(
            "{about} the page does not have this fact: put the fact back, or change the row to the page that has \
             it now"
        )
    })
}

/// What is wrong with a list: a line for each row that its page does not answer, and for each question that is asked
/// twice.
fn find_breaches(list: &str, contents: &str, read_page: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut asked = HashSet::new();
    for QuestionRow { line, number, text } in read_rows(list) {
        let place = format!("{LIST}:{line}: row {number}");
        if let Some(wrong) = check_row(text, contents, read_page) {
            breaches.push(format!("{place}: {wrong}"));
        }
        let question = text.split(" | ").next().unwrap_or_default();
        if !asked.insert(question) {
            breaches.push(format!("{place}: {question}\n    is asked twice; ask it once, or in other words"));
        }
    }
    breaches
}

#[test]
fn every_question_is_answered_by_its_page() {
    let list = fs::read_to_string(LIST).unwrap();
    let contents = fs::read_to_string(CONTENTS).unwrap();
    let breaches = find_breaches(&list, &contents, &|page| fs::read_to_string(page).ok());
    assert!(breaches.is_empty(), "questions without their answer:\n  {}", breaches.join("\n  "));
}

#[test]
fn no_question_is_removed() {
    let rows = read_rows(&fs::read_to_string(LIST).unwrap()).len();
    assert!(rows >= FIRST_QUESTIONS, "{LIST} has {rows} rows; it began with {FIRST_QUESTIONS}");
    assert_eq!(
        rows, QUESTIONS,
        "{LIST} has {rows} rows and not {QUESTIONS}: rows are only added; put a removed row back, or raise the \
         constant QUESTIONS"
    );
}

#[test]
fn each_fault_of_a_list_is_found() {
    let contents = "- [Limits](limits.md): what to know?\n- [Gone](gone.md): where is it?\n";
    let page = |name: &str| (name == "docs/limits.md").then(|| "A reply has at most\n64 items.\n".to_owned());
    let good = "How many items? | docs/limits.md | at most 64 items";
    let find = |list: &str| find_breaches(list, contents, &page);
    assert_eq!(find(&format!("# A comment.\n\n{good}\n")), Vec::<String>::new());
    for (list, number, words) in [
        ("How many? | docs/limits.md | at most 65 items", 1, "does not have this fact: put the fact back"),
        ("How many? | docs/limits.md | 64 items.", 1, "has 9 characters"),
        ("How many? | docs/limits.md | at most  64 items", 1, "single blanks"),
        (" | docs/limits.md | at most 64 items", 1, "write a question"),
        ("How many? | docs/limits.md", 1, "write three fields"),
        ("How many? | docs/limits.md | at most | 64 items", 1, "write three fields"),
        ("How many? | docs/gone.md | at most 64 items", 1, "there is no such page"),
        ("How many? | docs/other.md | at most 64 items", 1, "does not link the page"),
        (&format!("{good}\n{good}"), 2, "is asked twice"),
    ] {
        let found = find(&format!("# A comment.\n{list}\n"));
        let place = format!("{LIST}:{}: row {number}: ", number + 1);
        let is_found = found.len() == 1 && found[0].starts_with(&place) && found[0].contains(words);
        assert!(is_found, "{list}: {found:?}");
    }
}
