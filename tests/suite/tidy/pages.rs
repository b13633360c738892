//! How wide pages are: no line of text is wider than 100 columns, and in the README no line at all. Tables and code blocks
//! of other pages may be wider where a row or an output cannot be split.

use std::fs;

use super::hold;

const COLUMNS: usize = 100;
/// The pages that are wrapped.
const PAGES: [&str; 2] = ["README.md", "docs/faq.md"];

#[test]
fn no_line_of_a_page_is_too_wide() {
    let mut breaches = Vec::new();
    for path in PAGES {
        let text = fs::read_to_string(path).unwrap();
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            let may_be_wide = path != "README.md" && (is_code || line.trim_start().starts_with('|'));
            let columns = line.chars().count();
            if columns > COLUMNS && !may_be_wide {
                breaches.push(format!("{path}:{}: {columns} columns, {COLUMNS} at most", number + 1));
            }
        }
    }
    hold("too wide", &breaches);
}
