//! Inserts a block of lines below a key of an organism file, and leaves every other byte unchanged.
//!
//! It understands only the plainest layout: a key at the left edge with its entries in separate lines below it. For
//! any other layout it returns nothing, and the caller reports where the lines belong. It never judges the result.

use std::path::Path;
use std::{fs, io};

use io::Write as _;

/// The byte order mark.
const MARK: &str = "\u{feff}";

/// The text with the lines below that key, indented like the existing entries. If the key is missing, it is added at
/// the end.
pub fn insert_below(text: &str, key: &str, lines: &[String]) -> Option<String> {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut at = 0;
    let mut found = None;
    let mut end = None;
    let mut indent = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim_end();
        if found.is_none() {
            if is_key(bare, key) {
                found = Some(start);
                end = Some(at);
                if !is_block_start(bare, key) {
                    return None;
                }
            }
            continue;
        }
        let content = !bare.is_empty() && !bare.trim_start().starts_with('#');
        if !content {
            continue;
        }
        if !bare.starts_with(' ') {
            break;
        }
        let depth = bare.len() - bare.trim_start_matches(' ').len();
        indent.get_or_insert(depth);
        end = Some(at);
    }
    let indent = " ".repeat(indent.unwrap_or(2));
    let mut block = String::new();
    for line in lines {
        block.extend([&indent, line.as_str(), line_end]);
    }
    let (at, head) = match (found, end) {
        (Some(_), Some(end)) => (end, String::new()),
        // After the bracket that ends the whole file there is no room for a key.
        _ if !is_in_lines(text) => return None,
        _ => (text.len(), format!("{key}:{line_end}")),
    };
    let (before, after) = text.split_at_checked(at)?;
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { line_end };
    Some([before, gap, &head, &block, after].concat())
}

/// Replaces the organism's file atomically, so that no reader sees half of it. A byte order mark and the permissions
/// are kept.
///
/// # Errors
/// What the operating system says.
pub fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    // A link stays a link: its target is replaced.
    let file = fs::canonicalize(path)?;
    let mark = if fs::read(&file)?.starts_with(MARK.as_bytes()) { MARK } else { "" };
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = file.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut fresh = fs::File::options().write(true).create_new(true).open(&beside)?;
    let written = fs::metadata(&file)
        .and_then(|there| fresh.set_permissions(there.permissions()))
        .and_then(|()| fresh.write_all(mark.as_bytes()))
        .and_then(|()| fresh.write_all(text.trim_start_matches(MARK).as_bytes()))
        .and_then(|()| fresh.sync_all())
        .and_then(|()| fs::rename(&beside, &file));
    written.inspect_err(|_| {
        let _gone = fs::remove_file(&beside);
    })
}

/// Whether the keys of the file are in separate lines, at the left edge.
fn is_in_lines(text: &str) -> bool {
    let mut content =
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    content
        .next()
        .is_none_or(|first| first.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'')))
}

/// Whether a line is that key at the left edge, quoted or not.
fn is_key(line: &str, key: &str) -> bool {
    let quoted = [format!("\"{key}\""), format!("'{key}'"), key.to_owned()];
    quoted
        .iter()
        .any(|name| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.trim_start().starts_with(':')))
}

/// Whether only a comment follows the key, so that its entries are below it.
fn is_block_start(line: &str, key: &str) -> bool {
    let rest = line.strip_prefix(key).and_then(|rest| rest.trim_start().strip_prefix(':'));
    rest.is_some_and(|rest| {
        rest.trim().is_empty() || rest.trim_start().starts_with('#') && rest.starts_with(' ')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str, key: &str) -> Option<String> {
        insert_below(text, key, &["new:".to_owned(), "  run: [x]".to_owned()])
    }

    #[test]
    fn lines_go_behind_the_last_entry_as_it_is_indented() {
        let text = "organism: {name: a}\nlisteners: # mine\n    # one\n    a:\n        run: [x]\n\n# of the log\nlog: {path: x}\n";
        let put = put(text, "listeners").unwrap();
        let wanted = "organism: {name: a}\nlisteners: # mine\n    # one\n    a:\n        run: [x]\n    new:\n      run: [x]\n\n# of the log\nlog: {path: x}\n";
        assert_eq!(put, wanted);
    }

    #[test]
    fn a_file_without_the_key_or_without_a_line_break_gets_what_it_lacks() {
        assert_eq!(put("a: 1", "payloads").unwrap(), "a: 1\npayloads:\n  new:\n    run: [x]\n");
        assert_eq!(
            put("listeners:\n  a: {}", "listeners").unwrap(),
            "listeners:\n  a: {}\n  new:\n    run: [x]\n"
        );
        assert_eq!(
            put("listeners:\r\n  a: {}\r\n", "listeners").unwrap(),
            "listeners:\r\n  a: {}\r\n  new:\r\n    run: [x]\r\n"
        );
    }

    #[test]
    fn any_other_layout_is_left_alone() {
        for text in [
            "listeners: {a: {}}\n",
            "\"listeners\":\n  a: {}\n",
            "listeners: &x\n  a: {}\n",
            "listeners:#x\n",
            "# one\n{a: 1}\n",
            "--- {a: 1}\n",
        ] {
            assert_eq!(put(text, "listeners"), None, "{text}");
        }
    }
}
