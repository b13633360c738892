//! The list of harnesses on the page about tests: each file of a test binary that has no test of its own, with the first
//! sentence of its comment.

use crate::tidy::sources;

const PAGE: &str = "docs/internals/tests.md";

/// The first sentence of a file's own comment.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let words: Vec<&str> = lines.take_while(|line| !line.is_empty()).map(str::trim).collect();
    let words = words.join(" ");
    words.split_once(". ").map_or(words.clone(), |(first, _)| format!("{first}."))
}

fn harnesses() -> String {
    let mut page = "| file | what it is |\n|---|---|\n".to_owned();
    for source in sources() {
        let is_in_suite = source.path.starts_with("tests/suite/") || source.path.contains("/tests/suite/");
        let has_test = ["#[test]", "#[tokio::test", "proptest!"].iter().any(|one| source.text.contains(one));
        if is_in_suite && !has_test && !source.path.ends_with("/suite/main.rs") {
            page.push_str(&format!("| `{}` | {} |\n", source.path, first_sentence(&source.text)));
        }
    }
    page
}

#[test]
fn the_page_of_tests_lists_every_harness() {
    assert_eq!(crate::generated::parts(PAGE, |_| harnesses()), ["harnesses"]);
}
