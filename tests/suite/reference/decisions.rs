//! The list of decisions in the table of contents, made of their titles.

use std::fs;

fn decisions() -> String {
    let entries = fs::read_dir("docs/decisions").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "README.md").collect();
    names.sort();
    let line = |name: &String| {
        let text = fs::read_to_string(format!("docs/decisions/{name}")).unwrap();
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        format!("  - [{title}](decisions/{name})\n")
    };
    names.iter().map(line).collect()
}

#[test]
fn the_table_of_contents_lists_every_decision() {
    assert_eq!(crate::generated::parts("docs/SUMMARY.md", |_| decisions()), ["decisions"]);
}
