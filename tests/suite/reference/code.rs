//! Code on pages that is a file of the repository, or a part of one, so that it compiles and runs. The mark of such a part
//! names the file.

use std::fs;

/// A page, the language of its part, the file, and the text between which the part stands there; without one the file
/// to that end.
const SHOWN: [(&str, &str, &str, &str, &str); 20] = [
    (
        "docs/first-hour.md",
        "rust",
        "crates/queries/tests/first_hour.rs",
        "use std::collections",
        "// The page ends here.",
    ),
    ("docs/listeners-in-rust.md", "rust", "listeners/kit/examples/orders.rs", "use systole_kit", ""),
    ("docs/listeners-in-rust.md", "rust", "listeners/kit/examples/echo_nats.rs", "use systole_kit", ""),
    ("docs/adding-a-listener.md", "python", "config/first-listeners/answer.py", "", ""),
    ("docs/listeners-in-python.md", "yaml", "listeners/sdk/python/examples/organism.yaml", "", ""),
    ("docs/listeners-in-python.md", "python", "listeners/sdk/python/examples/store.py", "import asyncio", ""),
    ("docs/listeners-in-python.md", "python", "listeners/sdk/python/examples/desk.py", "from payloads", ""),
    ("docs/listeners-in-python.md", "python", "listeners/sdk/python/examples/bank.py", "import sqlite3", ""),
    (
        "docs/listeners-in-python.md",
        "python",
        "listeners/sdk/python/examples/test_desk.py",
        "from decimal",
        "",
    ),
    ("docs/client.md", "python", "listeners/sdk/python/examples/ask.py", "from payloads", ""),
    ("docs/client.md", "python", "listeners/sdk/python/examples/follow.py", "from systole_sdk", ""),
    ("docs/client.md", "python", "listeners/sdk/python/examples/decide.py", "import sys", ""),
    ("docs/client.md", "ts", "listeners/sdk/typescript/examples/client.mts", "", ""),
    ("docs/listeners-in-typescript.md", "ts", "listeners/sdk/typescript/examples/new/weather.mts", "", ""),
    ("docs/listeners-in-typescript.md", "yaml", "listeners/sdk/typescript/examples/organism.yaml", "", ""),
    (
        "docs/listeners-in-typescript.md",
        "ts",
        "listeners/sdk/typescript/examples/listeners/weather.mts",
        "",
        "",
    ),
    (
        "docs/listeners-in-typescript.md",
        "ts",
        "listeners/sdk/typescript/examples/listeners/orders.mts",
        "",
        "",
    ),
    (
        "docs/listeners-in-typescript.md",
        "ts",
        "listeners/sdk/typescript/examples/tests/listeners.test.mts",
        "",
        "",
    ),
    (
        "docs/listeners-in-typescript.md",
        "ts",
        "listeners/sdk/typescript/examples/tests/organism.test.mts",
        "",
        "",
    ),
    ("docs/listeners-in-typescript.md", "json", "listeners/sdk/typescript/examples/tsconfig.json", "", ""),
];

#[test]
fn the_code_on_pages_is_that_of_the_files() {
    let show = |shown: &str| {
        let of_file = SHOWN.iter().find(|(_, _, file, _, _)| *file == shown);
        let (_, language, file, begin, end) = of_file.unwrap_or_else(|| panic!("no row shows {shown}"));
        let text = fs::read_to_string(file).unwrap();
        let from = text.find(begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
        let code = &text[from..];
        let code = if end.is_empty() { code } else { code.split_once(end).unwrap().0 };
        format!("```{language}\n{}\n```", code.trim_end())
    };
    for (page, ..) in SHOWN {
        let files: Vec<&str> = SHOWN.iter().filter(|row| row.0 == page).map(|row| row.2).collect();
        assert_eq!(crate::generated::parts(page, show), files);
    }
}
