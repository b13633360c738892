//! `<query>`: all places whose syntax fits a pattern, as `fn $NAME($$$ARGS) { $$$BODY }`.
//!
//! A request comes in; hits go out. A pattern that cannot be read is answered with the reason and the nearest pattern
//! that can.

use ast_grep_core::matcher::Pattern;
use ast_grep_core::{AstGrep, Language as _};
use ast_grep_language::SupportLang;

use crate::answer::{CodeHit, PatternAnswer};
use crate::failure::{self, CodeFault};
use crate::limits;
use crate::parallel::map_in_parallel;
use crate::request::PatternRequest;
use crate::search::{files, hits};
use crate::syntax::language::LanguageRow;
use crate::syntax::parse::{parse_document, parse_tree};
use crate::text::merge::LineRange;
use systole_folder::{FolderRoot, WorkBound, is_binary};

/// Looks for a pattern.
pub(crate) fn find_pattern(
    root: &FolderRoot,
    request: &PatternRequest,
    bound: WorkBound<'_>,
) -> Result<PatternAnswer, CodeFault> {
    let rows = list_languages(request)?;
    let mut found = files::list_files(root, request.path.as_deref(), bound)?;
    let of_path = |path: &str| {
        let row = LanguageRow::from_path(path)?;
        rows.iter().copied().find(|one| std::ptr::eq(*one, row))
    };
    found.paths.retain(|path| of_path(path).is_some());
    let patterns = read_patterns(request, &rows, bound)?;
    let searched = map_in_parallel(&found.paths, |path| {
        if bound.is_over() {
            return None;
        }
        let row = of_path(path)?;
        let (_, pattern) = patterns.iter().find(|(known, _)| std::ptr::eq(*known, row))?;
        Some(find_places(root, path, row.grammar?, pattern, bound))
    });
    let unreadable = |path: &String| {
        of_path(path).is_some_and(|row| patterns.iter().all(|(one, _)| !std::ptr::eq(*one, row)))
    };
    let skipped = found.paths.iter().filter(|path| unreadable(path)).count();
    let files = searched.iter().flatten().count();
    let is_partial = found.is_partial || files + skipped < found.paths.len() || bound.is_over();
    let all: Vec<CodeHit> = searched.into_iter().flatten().flatten().collect();
    Ok(PatternAnswer { found: all.len(), files, is_partial, hits: limit_hits(all) })
}

/// As many hits as fit. Places are short, so more of them are shown than blocks of a search.
fn limit_hits(all: Vec<CodeHit>) -> Vec<CodeHit> {
    let mut bytes = 0;
    let mut kept = Vec::new();
    for hit in all {
        bytes += hit.text.len();
        if kept.len() >= limits::PATTERN_PLACES || !kept.is_empty() && bytes > limits::ANSWER_BYTES {
            break;
        }
        kept.push(hit);
    }
    kept
}

/// The languages in which the pattern may be written.
fn list_languages(request: &PatternRequest) -> Result<Vec<&'static LanguageRow>, CodeFault> {
    if let Some(name) = request.language.as_deref().map(str::trim) {
        return match LanguageRow::from_name(name) {
            Some(row) if row.grammar.is_some() => Ok(vec![row]),
            Some(row) => {
                let message =
                    format!("patterns cannot be looked for in {}: it has no grammar here", row.name());
                let names: Vec<&str> = LanguageRow::with_grammar().map(LanguageRow::name).collect();
                let fix = format!("<search>, or one of {}", names.join(", "));
                Err(CodeFault::new(failure::BAD_QUERY, message).with_fix(fix))
            }
            None => Err(files::report_unknown_language(name, LanguageRow::with_grammar())),
        };
    }
    Ok(LanguageRow::with_grammar().collect())
}

/// The pattern in each language that can read it.
fn read_patterns(
    request: &PatternRequest,
    rows: &[&'static LanguageRow],
    bound: WorkBound<'_>,
) -> Result<Vec<(&'static LanguageRow, Pattern)>, CodeFault> {
    let mut found = Vec::new();
    let mut why = None;
    for row in rows {
        let Some(grammar) = row.grammar else { continue };
        match read_pattern(&request.pattern, grammar, bound) {
            Ok(pattern) => found.push((*row, pattern)),
            Err(reason) => why = why.or(Some((*row, reason))),
        }
    }
    let Some((row, reason)) = why.filter(|_| found.is_empty()) else { return Ok(found) };
    let language = if rows.len() == 1 { row.name() } else { "any language" };
    let message = format!("the pattern cannot be read in {language}: {reason}");
    let fault = CodeFault::new(failure::BAD_PATTERN, message);
    let near = rows
        .iter()
        .filter_map(|row| row.grammar)
        .find_map(|grammar| suggest_nearest(&request.pattern, grammar, bound));
    Err(match near {
        Some(near) => fault.with_nearest(vec![near]),
        None => fault.with_fix(
            "a whole piece of code, in which $NAME is any one part and $$$ARGS any number of parts",
        ),
    })
}

/// Reads a pattern in one language, or says why it cannot be.
fn read_pattern(text: &str, grammar: SupportLang, bound: WorkBound<'_>) -> Result<Pattern, String> {
    let prepared = grammar.pre_process_pattern(text);
    let tree = parse_tree(&prepared, grammar, bound.deadline).ok_or("it is nested too deeply")?;
    let mut nested = (0usize, 0usize);
    for c in text.chars() {
        nested.0 = match c {
            '(' | '[' | '{' => nested.0 + 1,
            ')' | ']' | '}' => nested.0.saturating_sub(1),
            _ => nested.0,
        };
        nested.1 = nested.1.max(nested.0);
    }
    if nested.1 > limits::PATTERN_DEPTH {
        return Err("it is nested too deeply".to_owned());
    }
    if tree.root_node().has_error() {
        return Err("it is no complete piece of code".to_owned());
    }
    let built =
        std::panic::catch_unwind(|| Pattern::try_new(text, grammar).map_err(|error| error.to_string()));
    built.unwrap_or_else(|_| Err("the grammar fails on it".to_owned()))
}

/// The nearest pattern that can be read: with the brackets closed, or with fewer tokens at its end.
fn suggest_nearest(text: &str, grammar: SupportLang, bound: WorkBound<'_>) -> Option<String> {
    let mut shorter = text.trim_end().to_owned();
    for _ in 0..=limits::PATTERN_SHORTER {
        let closed = format!("{shorter}{}", find_missing_ends(&shorter));
        for candidate in [&shorter, &closed, &format!("{closed} {{ $$$BODY }}")] {
            if candidate != text
                && !candidate.trim().is_empty()
                && read_pattern(candidate, grammar, bound).is_ok()
            {
                return Some(candidate.clone());
            }
        }
        let cut = shorter.trim_end().char_indices().rev().find(|(at, c)| {
            let before = shorter.get(..*at).and_then(|text| text.chars().next_back());
            !c.is_alphanumeric() && *c != '_' && *c != '$'
                || before.is_none_or(|b| b.is_whitespace() || "([{,;".contains(b))
        });
        let (at, _) = cut?;
        shorter.truncate(at);
        shorter.truncate(shorter.trim_end().len());
    }
    None
}

/// The closing brackets that a text lacks.
fn find_missing_ends(text: &str) -> String {
    let mut open = Vec::new();
    for c in text.chars() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' => {
                open.pop();
            }
            _ => {}
        }
    }
    open.into_iter().rev().collect()
}

/// The places of a pattern in one file.
fn find_places(
    root: &FolderRoot,
    path: &str,
    grammar: SupportLang,
    pattern: &Pattern,
    bound: WorkBound<'_>,
) -> Vec<CodeHit> {
    let Some(bytes) =
        root.read_found(path, systole_folder::limits::FILE_BYTES).filter(|bytes| !is_binary(bytes))
    else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    // A text that lacks the fixed part of a pattern has no place of it; most files end here.
    if !text.contains(&*pattern.fixed_string()) {
        return Vec::new();
    }
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let Some(document) = parse_document(&text, grammar, bound.deadline) else { return Vec::new() };
        let parsed = AstGrep::doc(document);
        let mut ranges: Vec<LineRange> = Vec::new();
        for place in parsed.root().find_all(pattern) {
            let range = LineRange { first: place.start_pos().line() + 1, last: place.end_pos().line() + 1 };
            if !ranges.contains(&range) {
                ranges.push(range);
            }
            if ranges.len() >= limits::PATTERN_PLACES || bound.is_over() {
                break;
            }
        }
        ranges
    }));
    let sha256 = hits::hash_bytes(&bytes);
    let ranges = found.unwrap_or_default();
    ranges.into_iter().map(|range| hits::build_hit(path, &text, range, range.first, &sha256)).collect()
}
