//! The pages of the reference that are made from tables in the sources. `SYSTOLE_GOLDEN=1` writes them
//! again; without it a page that has fallen behind its table is a failure.

use std::fmt::Write as _;
use std::fs;

use systole::words::codes::Code;

const CODES: &str = "docs/reference/codes.md";

fn codes_page() -> String {
    let mut page = String::from(
        "# Codes\n\nWhat went wrong, as a name that people, prompts and stored logs depend on. Made from the table in\n\
         `src/words/codes.rs`; a test holds the two together.\n\n\
         *Again* says whether the same call, mended, may be sent now: it is `retry_allowed` of the `<system-error>`.\n",
    );
    let mut family = "";
    for code in Code::ALL {
        let (this, _) = code.as_str().split_once('.').expect("a code is a family, a dot and a name");
        if this != family {
            family = this;
            write!(page, "\n## {family}\n\n| code | what it means | again |\n|---|---|---|\n").unwrap();
        }
        let again = if code.retry_allowed() { "yes" } else { "no" };
        writeln!(page, "| `{code}` | {} | {again} |", code.meaning()).unwrap();
    }
    page
}

#[test]
fn the_page_of_codes_is_the_table_of_codes() {
    let page = codes_page();
    if std::env::var_os("SYSTOLE_GOLDEN").is_some() {
        fs::write(CODES, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(CODES).unwrap_or_default(), page, "SYSTOLE_GOLDEN=1 writes {CODES} again");
}

#[test]
fn a_family_of_codes_stands_together() {
    let mut seen: Vec<&str> = Code::ALL.iter().filter_map(|c| c.as_str().split('.').next()).collect();
    seen.dedup();
    let families = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), families, "a family begins twice in the table");
}
