//! `<extract>`: a file, some of its lines, the block around a line, or a symbol.
//!
//! A request comes in; the text with its lines goes out.

use crate::answer::{CodeHit, ExtractAnswer};
use crate::failure::{self, CodeFault};
use crate::limits;
use crate::nearest::find_nearest;
use crate::request::ExtractRequest;
use crate::search::files::with_nearest;
use crate::search::{cut_blocks, hits};
use crate::syntax::blocks::{CodeBlock, find_enclosing};
use crate::text::merge::LineRange;
use systole_folder::{FolderFile, FolderRoot, WorkBound};

/// Extracts.
pub(crate) fn extract_code(
    root: &FolderRoot,
    request: &ExtractRequest,
    bound: WorkBound<'_>,
) -> Result<ExtractAnswer, CodeFault> {
    let file =
        root.read_file(&request.path).map_err(|fault| with_nearest(root, fault, &request.path, bound))?;
    let text = String::from_utf8_lossy(&file.bytes);
    let lines = text.lines().count();
    let (range, also) = match &request.symbol {
        Some(symbol) => find_symbol_range(&file, &text, symbol, bound)?,
        None => (find_line_range(&file, &text, request, lines, bound)?, Vec::new()),
    };
    let (range, shown) = hits::take_lines(&text, range, limits::EXTRACT_BYTES);
    let sha256 = hits::hash_bytes(&file.bytes);
    Ok(ExtractAnswer { hit: CodeHit { file: file.path, range, text: shown, sha256 }, lines, also })
}

fn find_line_range(
    file: &FolderFile,
    text: &str,
    request: &ExtractRequest,
    lines: usize,
    bound: WorkBound<'_>,
) -> Result<LineRange, CodeFault> {
    let whole = LineRange { first: 1, last: lines.max(1) };
    let Some(first) = request.line else {
        return Ok(request
            .end_line
            .map_or(whole, |last| LineRange { first: 1, last: last.clamp(1, whole.last) }));
    };
    if first == 0 || first > whole.last {
        let message = format!("'{}' has no line {first}: it has {lines} lines", file.path);
        return Err(
            CodeFault::new(failure::BAD_LINES, message).with_fix(format!("a line from 1 to {}", whole.last))
        );
    }
    match request.end_line {
        Some(last) if last < first => {
            let message = format!("end_line {last} is before line {first}");
            Err(CodeFault::new(failure::BAD_LINES, message)
                .with_fix(format!("line {last} and end_line {first}")))
        }
        Some(last) => Ok(LineRange { first, last: last.min(whole.last) }),
        None => Ok(find_enclosing(&cut_blocks(text, &file.path, bound.deadline), first, lines).range),
    }
}

/// The first definition of a symbol, and the places of the others.
fn find_symbol_range(
    file: &FolderFile,
    text: &str,
    symbol: &str,
    bound: WorkBound<'_>,
) -> Result<(LineRange, Vec<LineRange>), CodeFault> {
    let blocks = cut_blocks(text, &file.path, bound.deadline);
    let (holder, name) = match symbol.rsplit_once("::").or_else(|| symbol.rsplit_once('.')) {
        Some((holder, name)) => (holder.rsplit(['.', ':']).next(), name),
        None => (None, symbol),
    };
    let holders = |block: &CodeBlock| {
        let is_around = |other: &&CodeBlock| other.is_holder && other.range.has_line(block.range.first);
        let around = blocks.iter().filter(is_around).filter(|other| other.range != block.range);
        let names: Vec<String> =
            around.filter_map(|other| other.name.clone()).chain(block.owner.clone()).collect();
        names
    };
    let is_meant = |block: &&CodeBlock| {
        let is_of = |holder: &str| holders(block).iter().any(|name| name == holder);
        block.name.as_deref() == Some(name) && holder.is_none_or(is_of)
    };
    let mut meant: Vec<&CodeBlock> = blocks.iter().filter(is_meant).collect();
    // A definition comes before what only mentions its name, and one of its own before one inside something else.
    meant.sort_by_key(|block| (block.is_mention, holder.is_none() && !holders(block).is_empty()));
    let mut found: Vec<LineRange> = meant.into_iter().map(|block| block.range).collect();
    found.dedup();
    if found.is_empty() {
        // A heading of Markdown is written in part or in another case.
        let lower = symbol.to_lowercase();
        let is_like =
            |block: &&CodeBlock| block.name.as_deref().is_some_and(|name| name.to_lowercase() == lower);
        found = blocks.iter().filter(is_like).map(|block| block.range).collect();
    }
    if let Some((first, also)) = found.split_first() {
        return Ok((*first, also.iter().copied().take(limits::HITS).collect()));
    }
    let known: Vec<&str> = blocks.iter().filter_map(|block| block.name.as_deref()).collect();
    let message = format!("Symbol '{symbol}' not found in '{}'", file.path);
    let fault = CodeFault::new(failure::NOT_FOUND, message);
    let near = find_nearest(name, &known);
    Err(if near.is_empty() && known.is_empty() {
        fault.with_fix("the lines, with <line> and <end_line>: this file has no symbols")
    } else if near.is_empty() {
        let mut some: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        some.dedup();
        some.truncate(2 * limits::NEAREST);
        fault.with_fix(format!("one of {}", some.join(", ")))
    } else {
        fault.with_nearest(near)
    })
}
