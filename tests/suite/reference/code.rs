//! Code on pages that is a file of the repository, or a part of one, so that it compiles and runs. The mark of such a part
//! names the file.

use std::fs;

/// A page, the language of its part, the file, and the text between which the part stands there; without one the file
/// to that end.
const SHOWN: [(&str, &str, &str, &str, &str); 3] = [
    (
        "docs/first-hour.md",
        "rust",
        "crates/queries/tests/first_hour.rs",
        "use std::collections",
        "// The page ends here.",
    ),
    ("docs/listeners-in-rust.md", "rust", "listeners/kit/examples/echo_nats.rs", "use systole_kit", ""),
    ("docs/adding-a-listener.md", "python", "config/first-listeners/answer.py", "", ""),
];

#[test]
fn the_code_on_pages_is_that_of_the_files() {
    for (page, language, file, begin, end) in SHOWN {
        let text = fs::read_to_string(file).unwrap();
        let from = text.find(begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
        let code = &text[from..];
        let code = if end.is_empty() { code } else { code.split_once(end).unwrap().0 };
        let part = format!("```{language}\n{}\n```", code.trim_end());
        assert_eq!(crate::generated::parts(page, |_| part.clone()), [file]);
    }
}
