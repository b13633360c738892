//! The hits of an answer: the best blocks, merged, with their text, within the bounds of an answer.
//!
//! Ranked blocks come in; hits go out.

use sha2::{Digest as _, Sha256};

use super::{MatchedFile, RankedBlock};
use crate::answer::CodeHit;
use crate::limits;
use crate::text::merge::{LineRange, merge_ranges};

/// The best blocks as hits, best first. Tests come last unless they are allowed.
pub(crate) fn choose_hits(
    files: &[MatchedFile],
    mut blocks: Vec<RankedBlock>,
    allow_tests: bool,
) -> Vec<CodeHit> {
    let is_last = |block: &RankedBlock| block.is_test && !allow_tests;
    blocks.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        is_last(one)
            .cmp(&is_last(other))
            .then(by_score)
            .then(one.file.cmp(&other.file))
            .then(one.range.cmp(&other.range))
    });
    let mut taken: Vec<RankedBlock> = Vec::new();
    for block in blocks {
        let of_file = taken.iter().filter(|known| known.file == block.file).count();
        if of_file < limits::HITS_OF_FILE {
            taken.push(block);
        }
        if taken.len() >= limits::HITS {
            break;
        }
    }
    // Near blocks of one file become one, in the place of the better one.
    let mut order: Vec<usize> = Vec::new();
    for block in &taken {
        if !order.contains(&block.file) {
            order.push(block.file);
        }
    }
    let mut merged: Vec<(f64, bool, CodeHit)> = Vec::new();
    for at in order {
        let Some(file) = files.get(at) else { continue };
        let text = String::from_utf8_lossy(&file.bytes);
        let sha256 = hash_bytes(&file.bytes);
        let of_file: Vec<&RankedBlock> = taken.iter().filter(|block| block.file == at).collect();
        let mut ranges = merge_ranges(of_file.iter().map(|block| (block.range, block.score)).collect());
        ranges.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        for (nth, (range, score)) in ranges.into_iter().enumerate() {
            let score = if nth == 0 { score } else { score * limits::FURTHER_SHARE };
            let inside = of_file.iter().filter(|block| range.has_line(block.range.first));
            let best = inside.clone().max_by(|one, other| one.score.total_cmp(&other.score));
            let match_line = best.map_or(range.first, |block| block.match_line);
            let is_last = inside.clone().all(|block| is_last(block));
            merged.push((score, is_last, build_hit(&file.path, &text, range, match_line, &sha256)));
        }
    }
    merged.sort_by(|one, other| one.1.cmp(&other.1).then(other.0.total_cmp(&one.0)));
    limit_hits(merged.into_iter().map(|(_, _, hit)| hit).collect())
}

/// The first hits that fit an answer, at least one.
pub(crate) fn limit_hits(hits: Vec<CodeHit>) -> Vec<CodeHit> {
    let mut bytes = 0;
    let mut kept = Vec::new();
    for hit in hits {
        bytes += hit.text.len();
        if kept.len() >= limits::HITS || !kept.is_empty() && bytes > limits::ANSWER_BYTES {
            break;
        }
        kept.push(hit);
    }
    kept
}

/// Hits around lines, for plain text.
pub(crate) fn build_around(path: &str, bytes: &[u8], lines: &[usize]) -> Vec<CodeHit> {
    if lines.is_empty() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let (count, sha256) = (text.lines().count(), hash_bytes(bytes));
    let window = |line: &usize| {
        let first = line.saturating_sub(limits::LINES_AROUND_TEXT).max(1);
        (LineRange { first, last: (line + limits::LINES_AROUND_TEXT).min(count.max(1)) }, 0.0)
    };
    let ranges = merge_ranges(lines.iter().take(limits::HITS).map(window).collect());
    ranges.into_iter().map(|(range, _)| build_hit(path, &text, range, range.first, &sha256)).collect()
}

/// A hit with its text. A long block is shown from its beginning, or from its first match if that comes late.
pub(crate) fn build_hit(
    path: &str,
    text: &str,
    range: LineRange,
    match_line: usize,
    sha256: &str,
) -> CodeHit {
    let whole = take_lines(text, range, limits::HIT_BYTES);
    let (range, text) = match whole {
        (shown, _) if shown.last < range.last && shown.last < match_line => {
            let first = match_line.saturating_sub(limits::LINES_AROUND).max(range.first);
            take_lines(text, LineRange { first, last: range.last }, limits::HIT_BYTES)
        }
        whole => whole,
    };
    CodeHit { file: path.to_owned(), range, text, sha256: sha256.to_owned() }
}

/// The lines of a range, as many as fit, with the range that they are. The first line is cut if it alone is too long.
pub(crate) fn take_lines(text: &str, range: LineRange, most: usize) -> (LineRange, String) {
    let mut shown = String::new();
    let mut last = range.first;
    for (at, line) in text.lines().enumerate().skip(range.first - 1).take(range.count_lines()) {
        if shown.len() + line.len() + 1 > most {
            if shown.is_empty() {
                let mut end = most.min(line.len());
                while !line.is_char_boundary(end) {
                    end -= 1;
                }
                shown.push_str(line.get(..end).unwrap_or_default());
                last = at + 1;
            }
            break;
        }
        if !shown.is_empty() || at + 1 > range.first {
            shown.push('\n');
        }
        shown.push_str(line);
        last = at + 1;
    }
    (LineRange { first: range.first, last }, shown)
}

/// The hash of a file, in hex.
pub(crate) fn hash_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
