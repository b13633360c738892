//! BM25 over blocks: how well each of a few pieces of code answers a query.
//!
//! Counts come in; a score for each block goes out. No files here.

use crate::limits;

/// How often each stem of a query occurs in a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StemCounts {
    /// By the number of the stem: in its text, in its name, in the path of its file.
    pub(crate) text: Vec<f64>,
    pub(crate) name: Vec<f64>,
    pub(crate) path: Vec<f64>,
    /// Its length, in bytes.
    pub(crate) length: f64,
}

/// How rare each stem is among the searched files.
pub(crate) fn measure_rarity(files: usize, with: &[usize]) -> Vec<f64> {
    let all = to_number(files);
    with.iter().map(|with| (1.0 + (all - to_number(*with) + 0.5) / (to_number(*with) + 0.5)).ln()).collect()
}

/// The score of each block.
pub(crate) fn score_blocks(blocks: &[StemCounts], rarity: &[f64]) -> Vec<f64> {
    let total: f64 = blocks.iter().map(|block| block.length).sum();
    let mean = (total / to_number(blocks.len().max(1))).max(1.0);
    let whole: f64 = rarity.iter().sum();
    blocks.iter().map(|block| score_block(block, rarity, mean, whole)).collect()
}

fn score_block(block: &StemCounts, rarity: &[f64], mean: f64, whole: f64) -> f64 {
    let norm = limits::SATURATION * (1.0 - limits::LENGTH_SHARE + limits::LENGTH_SHARE * block.length / mean);
    let (mut sum, mut covered) = (0.0, 0.0);
    for (stem, rare) in rarity.iter().enumerate() {
        let of = |counts: &[f64]| counts.get(stem).copied().unwrap_or_default();
        let times = of(&block.text)
            + limits::IN_NAME * of(&block.name).min(1.0)
            + limits::IN_PATH * of(&block.path).min(1.0);
        if times > 0.0 {
            sum += rare * times * (limits::SATURATION + 1.0) / (times + norm);
            covered += rare;
        }
    }
    // A block with all stems beats one that repeats a single one.
    let share = if whole > 0.0 { covered / whole } else { 0.0 };
    sum * (0.25 + 0.75 * share)
}

#[expect(clippy::cast_precision_loss, reason = "counts of files are far below 2^52")]
pub(crate) fn to_number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &[f64], length: f64) -> StemCounts {
        let none = vec![0.0; text.len()];
        StemCounts { text: text.to_vec(), name: none.clone(), path: none, length }
    }

    #[test]
    fn rare_stems_short_blocks_and_whole_answers_come_first() {
        let rare = measure_rarity(100, &[1, 90]);
        assert!(rare[0] > 3.0 * rare[1]);
        let blocks = [block(&[1.0, 0.0], 100.0), block(&[0.0, 1.0], 100.0), block(&[1.0, 0.0], 900.0)];
        let scores = score_blocks(&blocks, &rare);
        assert!(scores[0] > scores[1] && scores[0] > scores[2], "{scores:?}");
        let even = measure_rarity(100, &[5, 5]);
        let blocks = [block(&[1.0, 1.0], 100.0), block(&[9.0, 0.0], 100.0)];
        let both = super::score_blocks(&blocks, &even);
        assert!(both[0] > both[1], "{both:?}");
    }

    #[test]
    fn a_name_counts_more_than_a_mention() {
        let mut named = block(&[1.0], 100.0);
        named.name = vec![1.0];
        let scores = score_blocks(&[named, block(&[2.0], 100.0)], &measure_rarity(10, &[2]));
        assert!(scores[0] > scores[1], "{scores:?}");
    }
}
