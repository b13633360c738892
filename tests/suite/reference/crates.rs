//! The list of crates on the page about the architecture: the table of imports, with the description of each manifest.

use std::fs;

use crate::tidy::imports::CRATES;

fn crates() -> String {
    let mut page = "| crate | what it is | crates that it names |\n|---|---|---|\n".to_owned();
    for (folder, names, _) in CRATES.iter().filter(|(folder, ..)| *folder != ".") {
        let manifest = fs::read_to_string(format!("{folder}/Cargo.toml")).unwrap();
        let description = manifest.lines().find_map(|line| line.strip_prefix("description = \""));
        let description = description.unwrap_or_else(|| panic!("{folder}/Cargo.toml has no description"));
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        page.push_str(&format!("| `{folder}` | {} | {names} |\n", description.trim_end_matches('"')));
    }
    page
}

#[test]
fn the_page_of_the_architecture_lists_every_crate() {
    assert_eq!(crate::generated::parts("docs/ARCHITECTURE.md", |_| crates()), ["crates"]);
}
