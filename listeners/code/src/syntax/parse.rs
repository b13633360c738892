//! From the text of a file to its syntax tree, in bounded time and depth.
//!
//! A text comes in; a tree goes out, or `None` if it cannot be had. The grammars are foreign code: they get no file
//! over the size limit, and stop at the deadline.

use std::ops::ControlFlow;

use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_language::{LanguageExt as _, SupportLang};
use tokio::time::Instant;
use tree_sitter::{ParseOptions, Parser, Tree};

use crate::limits;

/// Parses a text.
pub(crate) fn parse_tree(text: &str, grammar: SupportLang, deadline: Instant) -> Option<Tree> {
    if text.contains('\0') {
        // To some grammars a zero character is the end of the text, again and again.
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&grammar.get_ts_language()).ok()?;
    let bytes = text.as_bytes();
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    let mut is_over = |_: &tree_sitter::ParseState| {
        if Instant::now() >= deadline { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut is_over);
    let tree = parser.parse_with_options(&mut read, None, Some(options))?;
    is_shallow(&tree).then_some(tree)
}

/// The same, for matching patterns.
pub(crate) fn parse_document(
    text: &str,
    grammar: SupportLang,
    deadline: Instant,
) -> Option<StrDoc<SupportLang>> {
    let tree = parse_tree(text, grammar, deadline)?;
    Some(StrDoc { src: text.to_owned(), lang: grammar, tree })
}

fn is_shallow(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0usize;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > limits::SYNTAX_DEPTH {
                return false;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::syntax::language::LanguageRow;

    const TEXT_BYTES: usize = 64 << 10;

    /// Brackets, quotes and keywords, thousands of times: no grammar crashes.
    #[test]
    fn g1_no_text_crashes_a_grammar() {
        let whole = [
            "(",
            "{",
            "[",
            "(((\n",
            "<",
            "\"",
            "'",
            "`${",
            "/*",
            "#if 1\n",
            "<<A\n",
            "fn f(",
            "class A {",
            "r#\"",
            "\u{0}",
            "-(",
            "if x:\n ",
            "\u{10ffff}",
            "a.",
            "::<",
            "<a>",
            "!",
        ];
        for row in LanguageRow::with_grammar() {
            for part in whole {
                let text = part.repeat(TEXT_BYTES / part.len());
                let deadline = Instant::now() + Duration::from_millis(100);
                let _tree = row.grammar.and_then(|grammar| parse_tree(&text, grammar, deadline));
            }
        }
    }

    #[test]
    fn a_deep_tree_is_no_tree() {
        let deadline = Instant::now() + Duration::from_secs(20);
        let text = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_tree(&text(100), SupportLang::Json, deadline).is_some());
        assert!(parse_tree(&text(2 * limits::SYNTAX_DEPTH), SupportLang::Json, deadline).is_none());
    }
}
