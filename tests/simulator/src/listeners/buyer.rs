//! Journal entries of a listener while it works: started model calls, most of them with their results, some
//! twice, some results without a start, and sometimes a question for the journal.

use systole_kit::ask::PumpQuestion;
use systole_kit::journal::{JournalEntry, ModelCallOutcome, ModelStarted};
use systole_kit::money::Money;
use systole_soak::dice::SeededDice;

use super::Speech;

/// The most entries of one script: enough to pass the tokens of the thriftiest composition.
const MOST: u64 = 4;

pub(super) fn writes(until_ms: u64, dice: &mut SeededDice) -> Vec<(u64, Speech)> {
    let mut said = Vec::new();
    if dice.permille(200) {
        said.push((
            dice.below(until_ms + 1),
            Speech::Asks(100, PumpQuestion::Journal { from: dice.below(3) }),
        ));
    }
    let mut at = 0;
    for start in (0..dice.between(1, MOST)).map(|n| 2 * n + 1) {
        at += dice.below(until_ms / 2 + 1);
        let begun = Speech::Writes(start, begins(dice));
        if dice.permille(100) {
            said.push((at, begun.clone()));
        }
        said.push((at, begun));
        if dice.permille(700) {
            at += dice.below(until_ms / 2 + 1);
            let of = if dice.permille(30) { start + 1 } else { start };
            said.push((at, Speech::Writes(start + 1, ends(of, dice))));
        }
    }
    said
}

fn begins(dice: &mut SeededDice) -> JournalEntry {
    let says = dice.permille(800);
    let (model, prompt) = ("simulated".to_owned(), "0".repeat(64));
    let reserve_tokens = says.then(|| dice.between(10, 60));
    let reserve_money =
        Money::parse(if dice.permille(50) { "0.01 EUR" } else { "0.01 USD" }).filter(|_| says);
    JournalEntry::Started(ModelStarted {
        model,
        prompt,
        guided: None,
        reserve_tokens,
        reserve_money,
        wait_ms: None,
    })
}

fn ends(of: u64, dice: &mut SeededDice) -> JournalEntry {
    let known = dice.permille(900);
    let tokens_in = known.then(|| dice.between(1, 50));
    let money = Money::parse("0.002 USD").filter(|_| known);
    let (stop, text) = ("end".to_owned(), "so".to_owned());
    JournalEntry::Result(ModelCallOutcome {
        of,
        stop,
        tokens_in,
        tokens_out: tokens_in,
        money,
        text,
        blobs: Vec::new(),
        details: Box::default(),
    })
}
