//! The page of the checks has a line for each check of the list, in its words.

use systole_conform::{CheckLevel, CheckRow, find_list};

use crate::find_file;

/// The line of a check on the page.
fn write_line(row: &CheckRow) -> String {
    let level = if row.level == CheckLevel::Must { "must" } else { "should" };
    let scope = if row.needs_task { "task" } else { "any" };
    let carriers = row.carriers.join(", ");
    let link = row.page.strip_prefix("reference/").map_or_else(|| format!("../{}", row.page), str::to_owned);
    format!("| `{}` | {level} | {scope} | {carriers} | {} | [{}]({link}) |", row.id, row.does, row.expects)
}

#[test]
fn g7_the_page_has_a_line_for_each_check() {
    let page = std::fs::read_to_string(find_file("docs/reference/conform.md")).unwrap();
    let missing: Vec<String> = find_list("1.0")
        .unwrap()
        .iter()
        .map(write_line)
        .filter(|line| !page.contains(line.as_str()))
        .collect();
    assert!(missing.is_empty(), "docs/reference/conform.md misses:\n{}", missing.join("\n"));
}

#[test]
fn g7_each_page_that_a_check_names_is_there() {
    for row in find_list("1.0").unwrap() {
        let (page, anchor) = row.page.split_once('#').unwrap_or((&row.page, ""));
        let text = std::fs::read_to_string(find_file(&format!("docs/{page}")));
        let text = text.unwrap_or_else(|error| panic!("{}: docs/{page}: {error}", row.id));
        let as_anchor = |line: &str| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            words
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'))
                .collect::<String>()
                .replace(' ', "-")
        };
        let found = text.lines().filter(|line| line.starts_with('#')).any(|line| as_anchor(line) == anchor);
        assert!(anchor.is_empty() || found, "{}: docs/{page} has no heading {anchor}", row.id);
    }
}
