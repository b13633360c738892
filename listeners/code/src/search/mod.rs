//! `<search>`: from a query to ranked blocks of code.
//!
//! A request comes in; hits go out. It finds lines by text, ranks their files, reads the syntax of the best ones, and
//! ranks the blocks around the lines.

pub(crate) mod files;
pub(crate) mod hits;
pub(crate) mod matching;

use tokio::time::Instant;

use crate::answer::{CodeHit, HitKind, SearchAnswer};
use crate::failure::{self, CodeFault};
use crate::limits;
use crate::parallel::map_in_parallel;
use crate::request::SearchRequest;
use crate::syntax::blocks::{CodeBlock, find_enclosing, list_blocks, split_sections};
use crate::syntax::language::LanguageRow;
use crate::syntax::parse::parse_tree;
use crate::text::merge::LineRange;
use crate::text::query::SearchQuery;
use crate::text::rank::{StemCounts, measure_rarity, score_blocks, to_number};
use crate::text::tokens::WordStemmer;
use matching::{MatchedLine, TermMatcher, find_plain_lines};
use systole_folder::{FolderRoot, WorkBound, is_binary};

/// A file with matches. Its text is not kept: there may be thousands.
struct FoundFile {
    path: String,
    counts: StemCounts,
}

/// One of the best files, read again.
pub(crate) struct MatchedFile {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    lines: Vec<MatchedLine>,
    counts: StemCounts,
    score: f64,
}

/// A block with its score.
pub(crate) struct RankedBlock {
    /// The number of its file.
    pub(crate) file: usize,
    pub(crate) range: LineRange,
    /// Its first matching line.
    pub(crate) match_line: usize,
    pub(crate) score: f64,
    pub(crate) is_test: bool,
}

/// Searches.
pub(crate) fn search(
    root: &FolderRoot,
    request: &SearchRequest,
    bound: WorkBound<'_>,
) -> Result<SearchAnswer, CodeFault> {
    let query = SearchQuery::parse_text(&request.query)
        .map_err(|fault| CodeFault::new(failure::BAD_QUERY, fault.message).with_fix(fault.fix))?;
    files::check_filters(&query.filters)?;
    let matcher = TermMatcher::new(&query)?;
    let mut found = files::list_files(root, request.path.as_deref(), bound)?;
    found.paths.retain(|path| files::fits_filters(path, &query.filters));
    let searched = map_in_parallel(&found.paths, |path| search_file(root, path, &matcher, bound));
    let mut is_partial = found.is_partial || searched.iter().any(Option::is_none);
    let count = searched.iter().flatten().count();
    let matched: Vec<FoundFile> = searched.into_iter().flatten().flatten().collect();
    let best = pick_best(&query, &matcher, matched, count);
    let ranked = best.and_then(|best| rank_blocks(root, &request.query, (&query, &matcher), best, bound));
    let Some((files, blocks)) = ranked else {
        return Ok(search_plain(root, &request.query, &found.paths, (count, is_partial), bound));
    };
    is_partial |= bound.is_over();
    let total = blocks.len();
    let hits = hits::choose_hits(&files, blocks, request.allow_tests);
    Ok(SearchAnswer { kind: HitKind::Ranked, found: total, files: count, is_partial, hits })
}

/// Reads and searches one file. `None` if there was no time for it; no matches if it cannot be read.
fn search_file(
    root: &FolderRoot,
    path: &str,
    matcher: &TermMatcher,
    bound: WorkBound<'_>,
) -> Option<Option<FoundFile>> {
    if bound.is_over() {
        return None;
    }
    let stemmer = WordStemmer::new();
    let Some(bytes) =
        root.read_found(path, systole_folder::limits::FILE_BYTES).filter(|bytes| !is_binary(bytes))
    else {
        return Some(None);
    };
    let lines = matcher.find_lines(&bytes, &stemmer);
    let none = || vec![0.0; matcher.count_units()];
    let mut counts = StemCounts { text: none(), name: none(), path: none(), length: to_number(bytes.len()) };
    for (unit, times) in lines.iter().flat_map(|line| &line.counts) {
        add_count(&mut counts.text, *unit, *times);
    }
    for (unit, times) in matcher.count_stems(path, &stemmer) {
        add_count(&mut counts.path, unit, times);
    }
    let has_path =
        counts.path.iter().enumerate().any(|(unit, count)| *count > 0.0 && matcher.is_wanted(unit));
    let is_found = !lines.is_empty() || has_path;
    Some(is_found.then(|| FoundFile { path: path.to_owned(), counts }))
}

fn add_count(counts: &mut [f64], unit: usize, times: u32) {
    if let Some(count) = counts.get_mut(unit) {
        *count += f64::from(times);
    }
}

fn is_in(counts: &StemCounts, unit: usize) -> bool {
    let has = |counts: &[f64]| counts.get(unit).copied().unwrap_or_default() > 0.0;
    has(&counts.text) || has(&counts.path)
}

/// The files that fit a query best.
struct BestFiles {
    /// Each with its score, best first.
    files: Vec<(FoundFile, f64)>,
    /// How rare each unit is.
    rare: Vec<f64>,
}

/// The best files. `None` if no file fits the query.
fn pick_best(
    query: &SearchQuery,
    matcher: &TermMatcher,
    matched: Vec<FoundFile>,
    searched: usize,
) -> Option<BestFiles> {
    let with = |unit: usize| matched.iter().filter(|file| is_in(&file.counts, unit)).count();
    let with: Vec<usize> = (0..matcher.count_units()).map(with).collect();
    let mut rare = measure_rarity(searched.max(1), &with);
    for (unit, rare) in rare.iter_mut().enumerate() {
        if !matcher.is_wanted(unit) {
            *rare = 0.0;
        }
    }
    let fitting: Vec<FoundFile> =
        matched.into_iter().filter(|file| fits_query(query, matcher, &file.counts)).collect();
    let all: Vec<StemCounts> = fitting.iter().map(|file| file.counts.clone()).collect();
    let scored = score_blocks(&all, &rare);
    let mut files: Vec<(FoundFile, f64)> = fitting.into_iter().zip(scored).collect();
    files.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    files.truncate(limits::PARSED);
    (!files.is_empty()).then_some(BestFiles { files, rare })
}

/// The best files and their blocks. `None` if no block fits the query.
fn rank_blocks(
    root: &FolderRoot,
    written: &str,
    (query, matcher): (&SearchQuery, &TermMatcher),
    best: BestFiles,
    bound: WorkBound<'_>,
) -> Option<(Vec<MatchedFile>, Vec<RankedBlock>)> {
    let read = map_in_parallel(&best.files, |(file, score)| {
        let bytes = root.read_found(&file.path, systole_folder::limits::FILE_BYTES)?;
        let lines = matcher.find_lines(&bytes, &WordStemmer::new());
        let (path, counts) = (file.path.clone(), file.counts.clone());
        let file = MatchedFile { path, bytes, lines, counts, score: *score };
        let blocks = find_blocks(&file, matcher, bound);
        Some((file, blocks))
    });
    let (mut files, mut counted): (Vec<MatchedFile>, Vec<(usize, CountedBlock)>) = (Vec::new(), Vec::new());
    for (file, blocks) in read.into_iter().flatten() {
        counted.extend(blocks.into_iter().map(|block| (files.len(), block)));
        files.push(file);
    }
    let counts: Vec<StemCounts> = counted.iter().map(|(_, block)| block.counts.clone()).collect();
    let of_block = score_blocks(&counts, &best.rare);
    let mut ranked: Vec<RankedBlock> = Vec::new();
    for ((at, block), score) in counted.into_iter().zip(of_block) {
        let Some(file) = files.get(at) else { continue };
        if !is_free(query, matcher, &block.counts) {
            continue;
        }
        let share = if fits_query(query, matcher, &block.counts) { 1.0 } else { limits::FILE_SHARE };
        ranked.push(RankedBlock {
            file: at,
            range: block.block.range,
            match_line: block.match_line,
            score: (share * score + limits::FILE_SHARE * file.score) * measure_kind(&file.path)
                + if is_defined_by(written, &block.block) { limits::DEFINED } else { 0.0 },
            is_test: block.block.is_test || files::is_test(&file.path),
        });
    }
    (!ranked.is_empty()).then_some((files, ranked))
}

/// Whether a block defines a name of the query: the name is the whole query, or a word of it that is spelled like a name,
/// as `make_response` and `ParseDuration` are.
fn is_defined_by(query: &str, block: &CodeBlock) -> bool {
    let Some(name) = block.name.as_deref().filter(|_| !block.is_mention) else { return false };
    let bare = |word: &str| word.trim_matches(['"', '\'', '`', '(', ')', '+']).to_owned();
    let last = |word: &str| word.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
    let is_spelled = name.contains('_') || name.chars().skip(1).any(char::is_uppercase);
    let words: Vec<String> = query.split_whitespace().map(|word| last(&bare(word))).collect();
    words.iter().any(|word| word == name) && (is_spelled || words.len() == 1)
}

/// How much the words of a file count, by what it is.
fn measure_kind(path: &str) -> f64 {
    let is_code = LanguageRow::from_path(path).is_some_and(|row| row.grammar.is_some());
    if is_code { 1.0 } else { limits::PROSE_SHARE }
}

/// Whether everything is there that must be. What must be absent is asked of blocks, not of whole files.
fn fits_query(query: &SearchQuery, matcher: &TermMatcher, counts: &StemCounts) -> bool {
    let is_there = |unit: usize| is_in(counts, unit);
    query.group.holds_without_not(&|term| matcher.has_term(term, &is_there))
}

/// Whether a block has nothing that must be absent.
fn is_free(query: &SearchQuery, matcher: &TermMatcher, counts: &StemCounts) -> bool {
    let is_there = |unit: usize| is_in(counts, unit);
    query.group.is_free(&|term| matcher.has_term(term, &is_there))
}

struct CountedBlock {
    block: CodeBlock,
    match_line: usize,
    counts: StemCounts,
}

/// The blocks of a file around its matching lines.
fn find_blocks(file: &MatchedFile, matcher: &TermMatcher, bound: WorkBound<'_>) -> Vec<CountedBlock> {
    let text = String::from_utf8_lossy(&file.bytes);
    let all = cut_blocks(&text, &file.path, bound.deadline);
    let count = text.lines().count().max(1);
    let stemmer = WordStemmer::new();
    let mut found: Vec<CountedBlock> = Vec::new();
    let first = [MatchedLine { line: 1, counts: Vec::new() }];
    // A file that only its path recommends is shown by its beginning.
    let lines = if file.lines.is_empty() { &first[..] } else { &file.lines[..] };
    for line in lines {
        let known = found.iter_mut().rev().take(8).find(|known| known.block.range.has_line(line.line));
        let at = match known.filter(|known| !known.block.is_holder) {
            Some(known) => known,
            None => {
                let block = find_enclosing(&all, line.line, count);
                let mut counts = StemCounts {
                    text: vec![0.0; matcher.count_units()],
                    name: vec![0.0; matcher.count_units()],
                    path: file.counts.path.clone(),
                    length: measure_length(&text, block.range),
                };
                for (unit, times) in matcher.count_stems(block.name.as_deref().unwrap_or_default(), &stemmer)
                {
                    add_count(&mut counts.name, unit, times);
                }
                found.push(CountedBlock { block, match_line: line.line, counts });
                let Some(last) = found.last_mut() else { continue };
                last
            }
        };
        for (unit, times) in &line.counts {
            add_count(&mut at.counts.text, *unit, *times);
        }
    }
    found
}

fn measure_length(text: &str, range: LineRange) -> f64 {
    to_number(
        text.lines().skip(range.first - 1).take(range.count_lines()).map(|line| line.trim().len() + 1).sum(),
    )
}

/// The blocks of a text: by its syntax, else its sections.
pub(crate) fn cut_blocks(text: &str, path: &str, deadline: Instant) -> Vec<CodeBlock> {
    let row = LanguageRow::from_path(path);
    let by_syntax = row.filter(|row| !row.blocks.is_empty()).and_then(|row| {
        // A fault of a grammar costs the whole blocks of one file, and nothing else.
        let parsed = std::panic::catch_unwind(|| {
            row.grammar
                .and_then(|grammar| parse_tree(text, grammar, deadline))
                .map(|tree| list_blocks(&tree, text, row))
        });
        parsed.ok().flatten()
    });
    by_syntax.unwrap_or_else(|| split_sections(text, row))
}

/// The places where the text of the query is, as it is written.
fn search_plain(
    root: &FolderRoot,
    query: &str,
    paths: &[String],
    (files, was_partial): (usize, bool),
    bound: WorkBound<'_>,
) -> SearchAnswer {
    let bare = query.trim().trim_matches('"');
    let hits = |texts: &[&str]| -> Vec<CodeHit> {
        let found = map_in_parallel(paths, |path| {
            if bound.is_over() || texts.is_empty() {
                return Vec::new();
            }
            let bytes =
                root.read_found(path, systole_folder::limits::FILE_BYTES).filter(|bytes| !is_binary(bytes));
            bytes
                .map(|bytes| hits::build_around(path, &bytes, &find_plain_lines(texts, &bytes)))
                .unwrap_or_default()
        });
        found.into_iter().flatten().collect()
    };
    let mut found = hits(&[bare]);
    if found.is_empty() {
        let words: Vec<&str> = bare.split_whitespace().filter(|word| word.len() > 2).collect();
        found = hits(&words);
    }
    let total = found.len();
    let is_partial = was_partial || bound.is_over();
    SearchAnswer { kind: HitKind::Plain, found: total, files, is_partial, hits: hits::limit_hits(found) }
}
