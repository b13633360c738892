//! The blocks of a file: whole functions, types and methods with the comments before them.
//!
//! A syntax tree comes in; ranges of lines with names go out. A file without a grammar has sections instead.

use tree_sitter::{Node, Tree};

use super::language::LanguageRow;
use crate::limits;
use crate::text::merge::LineRange;

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeBlock {
    pub(crate) range: LineRange,
    /// The name of what it defines.
    pub(crate) name: Option<String>,
    /// The type of a method that is outside of its type, as in Go.
    pub(crate) owner: Option<String>,
    /// Whether it only has a name that another block defines: an `impl`, or a declaration without a body.
    pub(crate) is_mention: bool,
    /// Whether it holds other blocks.
    pub(crate) is_holder: bool,
    /// Whether it is part of a module of tests.
    pub(crate) is_test: bool,
}

/// The blocks of a tree, each before the blocks inside it.
pub(crate) fn list_blocks(tree: &Tree, text: &str, row: &LanguageRow) -> Vec<CodeBlock> {
    let mut found = Vec::new();
    let mut waiting = vec![OpenNode { node: tree.root_node(), wrapped: None, is_test: false }];
    while let Some(inside) = waiting.pop() {
        let mut deeper = Vec::new();
        visit_siblings(&inside, text, row, &mut found, &mut deeper);
        waiting.extend(deeper.into_iter().rev());
        if found.len() >= limits::BLOCKS {
            break;
        }
    }
    found.sort_by_key(|block: &CodeBlock| (block.range.first, std::cmp::Reverse(block.range.last)));
    found
}

/// A node whose children are looked at.
struct OpenNode<'t> {
    node: Node<'t>,
    /// The first line of what wraps it, as `export` does.
    wrapped: Option<LineRange>,
    is_test: bool,
}

fn visit_siblings<'t>(
    inside: &OpenNode<'t>,
    text: &str,
    row: &LanguageRow,
    found: &mut Vec<CodeBlock>,
    deeper: &mut Vec<OpenNode<'t>>,
) {
    let is_root = inside.node.parent().is_none();
    let mut cursor = inside.node.walk();
    // The start of the comments and attributes directly before a node.
    let mut leading: Option<LineRange> = None;
    let mut says_test = false;
    for node in inside.node.children(&mut cursor) {
        let own = find_lines(node);
        let kind = node.kind();
        if is_leading(kind) {
            let (joined, apart) = split_comments(leading.take(), own);
            found.extend(apart.map(CodeBlock::without_name));
            leading =
                Some(LineRange { first: joined.map_or(own.first, |before| before.first), last: own.last });
            says_test |= kind == "attribute_item" && slice_node(text, node).contains("test");
            continue;
        }
        let (before, apart) = split_comments(leading.take(), own);
        found.extend(apart.map(CodeBlock::without_name));
        let first = before.map_or(own.first, |before| before.first);
        let first = inside.wrapped.map_or(first, |wrapped| wrapped.first.min(first));
        let last = inside.wrapped.map_or(own.last, |wrapped| wrapped.last.max(own.last));
        let range = LineRange { first, last };
        let is_test = inside.is_test || std::mem::take(&mut says_test);
        if row.holders.contains(&kind) {
            found.push(CodeBlock { is_holder: true, is_test, ..build_block(node, text, range) });
            deeper.push(OpenNode { node, wrapped: None, is_test });
        } else if row.blocks.contains(&kind) {
            found.push(CodeBlock { is_test, ..build_block(node, text, range) });
        } else if row.wrappers.contains(&kind) {
            deeper.push(OpenNode { node, wrapped: Some(range), is_test });
        } else if row.bodies.contains(&kind) {
            deeper.push(OpenNode { node, wrapped: None, is_test });
        } else if is_root && node.is_named() && !row.blocks.is_empty() {
            found.push(CodeBlock { is_test, ..CodeBlock::without_name(range) });
        }
    }
    found.extend(leading.map(CodeBlock::without_name));
}

/// Comments that directly precede a node, or stand apart from it.
fn split_comments(leading: Option<LineRange>, own: LineRange) -> (Option<LineRange>, Option<LineRange>) {
    match leading {
        Some(before) if own.first <= before.last + 1 => (Some(before), None),
        apart => (None, apart),
    }
}

impl CodeBlock {
    /// A part without a name, such as the comments at the head of a file.
    fn without_name(range: LineRange) -> CodeBlock {
        CodeBlock { range, name: None, owner: None, is_mention: false, is_holder: false, is_test: false }
    }
}

/// The block of a node that is a whole block.
fn build_block(node: Node<'_>, text: &str, range: LineRange) -> CodeBlock {
    // The receiver of a method of Go: `(h *Handler)`, `(s Stack[T])`.
    let receiver = node
        .child_by_field_name("receiver")
        .map(|of| slice_node(text, of).split('[').next().unwrap_or_default());
    let owner = receiver.and_then(|of| of.split([' ', '*', '(', ')']).rfind(|word| !word.is_empty()));
    let kind = node.kind();
    let is_mention = kind == "impl_item" || kind == "declaration" || kind.ends_with("signature");
    CodeBlock {
        name: name_of(node, text),
        owner: owner.map(str::to_owned),
        is_mention,
        ..CodeBlock::without_name(range)
    }
}

fn is_leading(kind: &str) -> bool {
    kind.contains("comment")
        || matches!(kind, "attribute_item" | "decorator" | "marker_annotation" | "annotation")
}

fn find_lines(node: Node<'_>) -> LineRange {
    let (start, end) = (node.start_position(), node.end_position());
    // A node that ends with a line break ends on the line before.
    let last = if end.column == 0 && end.row > start.row { end.row } else { end.row + 1 };
    LineRange { first: start.row + 1, last }
}

fn slice_node<'t>(text: &'t str, node: Node<'_>) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The name of what a node defines. Declarations of C have it inside their declarator.
fn name_of(node: Node<'_>, text: &str) -> Option<String> {
    if node.kind() == "impl_item" {
        return node.child_by_field_name("type").map(|of| strip_parameters(slice_node(text, of)));
    }
    let mut at = node;
    for _ in 0..6 {
        if let Some(name) = at.child_by_field_name("name") {
            return Some(strip_parameters(slice_node(text, name)));
        }
        let within = at.child_by_field_name("declarator").or_else(|| {
            let mut cursor = at.walk();
            at.named_children(&mut cursor).find(|child| {
                matches!(
                    child.kind(),
                    "variable_declarator" | "type_spec" | "const_spec" | "var_spec" | "type_alias"
                )
            })
        });
        match within {
            Some(within) if within.kind() == "identifier" || within.kind() == "type_identifier" => {
                return Some(strip_parameters(slice_node(text, within)));
            }
            Some(within) => at = within,
            None => return None,
        }
    }
    None
}

/// A name without what follows it, as the parameters of a type do.
fn strip_parameters(name: &str) -> String {
    name.split(['<', '(', ' ', '\n']).next().unwrap_or(name).to_owned()
}

/// The sections of a text without a grammar: below each heading for Markdown, else paragraphs.
pub(crate) fn split_sections(text: &str, row: Option<&LanguageRow>) -> Vec<CodeBlock> {
    let is_markdown = row.is_some_and(|row| row.name() == "markdown");
    let mut found: Vec<CodeBlock> = Vec::new();
    let mut open: Option<CodeBlock> = None;
    let mut is_fenced = false;
    for (at, line) in text.lines().enumerate() {
        let lines = at + 1;
        let is_heading = is_markdown && !is_fenced && line.starts_with('#');
        is_fenced ^= is_markdown && line.trim_start().starts_with("```");
        let ends = is_heading || !is_markdown && line.trim().is_empty();
        if ends {
            found.extend(open.take());
        }
        let is_empty = line.trim().is_empty();
        match &mut open {
            Some(section) if !is_empty => section.range.last = lines,
            None if !is_empty => {
                let name = is_heading.then(|| line.trim_start_matches('#').trim().to_owned());
                let range = LineRange { first: lines, last: lines };
                open = Some(CodeBlock { name, ..CodeBlock::without_name(range) });
            }
            _ => {}
        }
        if found.len() >= limits::BLOCKS {
            break;
        }
    }
    found.extend(open);
    found
}

/// The block in which a line is shown.
pub(crate) fn find_enclosing(blocks: &[CodeBlock], line: usize, lines: usize) -> CodeBlock {
    let inside = blocks.iter().filter(|block| block.range.has_line(line));
    let smallest = inside.min_by_key(|block| block.range.count_lines());
    match smallest {
        Some(block) if !block.is_holder || block.range.count_lines() <= limits::HOLDER_LINES => block.clone(),
        found => {
            let within = found.map_or(LineRange { first: 1, last: lines.max(line) }, |block| block.range);
            let first = line.saturating_sub(limits::LINES_AROUND).max(within.first);
            let range = LineRange { first, last: (line + limits::LINES_AROUND).min(within.last) };
            // The first lines of a holder say what it is.
            let name =
                found.filter(|block| line <= block.range.first + 2).and_then(|block| block.name.clone());
            let is_test = found.is_some_and(|block| block.is_test);
            CodeBlock { name, is_test, ..CodeBlock::without_name(range) }
        }
    }
}
