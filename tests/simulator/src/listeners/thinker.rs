//! The listener that thinks: it writes notes, asks its peers, spawns, and answers in the end. Its choices
//! depend only on the turn, never on the answers, so every path is taken. Only at the end does it cancel
//! the timers that it hears of, or the run would never end.

use super::{Cue, End, Speech, Temper, Thing};
use crate::{cast, primitives};
use systole_core::types::composition::GatherRule;
use systole_soak::dice::SeededDice;

/// The peers that it asks. Those that are listed twice are asked more often.
const PEERS: [&str; 8] = [
    cast::TOOL,
    cast::TOOL,
    cast::OTHER,
    cast::QUIET,
    cast::CAREFUL,
    cast::CAREFUL,
    cast::AGENT,
    cast::WARDED,
];
const LABELS: [Option<&str>; 4] = [Some("heat"), Some("light"), None, None];

pub(super) fn thinks(cue: &mut Cue<'_>, dice: &mut SeededDice) -> End {
    let turn = u64::from(cue.delivery.lease.id.turn);
    if cue.is_brief && turn == 1 && !cue.fired.is_empty() {
        let timers = cue.fired.iter().map(|id| Cue::primitive(primitives::no_timer(id)));
        return End::Speaks(Speech::Items(timers.flatten().collect()));
    }
    if cue.is_brief {
        return End::Speaks(Speech::Items(cue.answer().into_iter().collect()));
    }
    match cue.temper {
        Temper::Deep if turn == 1 => {
            let asks = if dice.permille(950) { cue.call(cast::AGENT) } else { cue.spawn(None, cast::AGENT) };
            return End::Speaks(Speech::Items(asks.into_iter().collect()));
        }
        Temper::Wide if turn == 1 && cue.may_ask => {
            let many = (0..dice.between(30, 40)).map(|_| cue.spawn(Some("wide"), cast::TOOL));
            return End::Speaks(Speech::Items(many.flatten().collect()));
        }
        Temper::Changing | Temper::Deep | Temper::Wide => {}
    }
    let asking = if cue.may_ask { 30 } else { 0 };
    let things = match dice.weighed(&[15 * turn, 10, asking, asking, 15, 6, 3, 1, 5, asking, asking / 2]) {
        0 => vec![cue.answer()],
        1 => vec![cue.note()],
        2 => (0..dice.between(1, 3)).map(|_| asks(cue, dice)).collect(),
        3 => (0..dice.between(1, 2)).map(|_| spawns(cue, dice)).collect(),
        4 => (0..dice.between(1, 4)).map(|_| anything(cue, dice)).collect(),
        5 => vec![anything(cue, dice), cue.answer(), cue.note()],
        6 => vec![cue.answer(), cue.answer()],
        7 => (0..65).map(|_| cue.note()).collect(),
        9 => sleeps(cue, dice),
        10 => vec![todo(dice), cue.answer()],
        _ => return End::Speaks(Speech::Again),
    };
    End::Speaks(Speech::Items(things.into_iter().flatten().collect()))
}

/// Spawns or sets a timer, or neither, and waits.
fn sleeps(cue: &mut Cue<'_>, dice: &mut SeededDice) -> Vec<Option<Thing>> {
    let mut things: Vec<Option<Thing>> = (0..dice.below(3)).map(|_| spawns(cue, dice)).collect();
    if dice.percent(50) {
        things.push(cue.sets_timer(dice));
    }
    things.push(waits(cue, dice));
    things
}

fn waits(cue: &mut Cue<'_>, dice: &mut SeededDice) -> Option<Thing> {
    let mode = dice.one_of(&["all", "all", "any", "2"])?;
    let is_named = dice.percent(30);
    let named = dice.one_of(cue.children).filter(|_| is_named).cloned();
    Cue::primitive(primitives::waits(mode, &Vec::from_iter(named)))
}

fn todo(dice: &mut SeededDice) -> Option<Thing> {
    let condition = dice.one_of(&["all is done", "all is well"])?;
    Cue::primitive(primitives::todo(condition, dice.percent(40)))
}

fn asks(cue: &mut Cue<'_>, dice: &mut SeededDice) -> Option<Thing> {
    let to = dice.one_of(&PEERS)?;
    cue.call(to)
}

fn spawns(cue: &mut Cue<'_>, dice: &mut SeededDice) -> Option<Thing> {
    let (label, to) = (dice.one_of(&LABELS)?, dice.one_of(&PEERS)?);
    cue.spawn(*label, to)
}

/// The takers of a broadcast.
const TAKERS: [&[&str]; 4] = [
    &[cast::TOOL, cast::CAREFUL],
    &[cast::AGENT, cast::TOOL],
    &[cast::QUIET, cast::WARDED, cast::TOOL],
    &[cast::CAREFUL, cast::AGENT],
];

/// Asks several at once, clears its view, or recalls from it.
fn looks_wide(cue: &mut Cue<'_>, dice: &mut SeededDice) -> Option<Thing> {
    let asking = if cue.may_ask { 4 } else { 0 };
    match dice.weighed(&[asking, 2, 3]) {
        0 => {
            let gather = if dice.percent(50) { GatherRule::First } else { GatherRule::All };
            cue.spreads(gather, dice.one_of(&TAKERS)?)
        }
        1 => Cue::primitive(primitives::clears(dice.below(8))),
        _ => {
            let from = dice.below(8);
            let length = dice.percent(50).then(|| dice.between(1, 300));
            Cue::primitive(primitives::recalls((from, from + dice.below(6)), dice.below(100), length))
        }
    }
}

/// A question to a person. Some of the messages that it shows may not exist.
fn asks_a_person(dice: &mut SeededDice) -> Option<Thing> {
    let shows: Vec<u64> = (0..dice.below(3)).map(|_| dice.between(1, 8)).collect();
    let choices: &[&str] = if dice.percent(70) { &["go", "stop"] } else { &[] };
    Cue::primitive(primitives::question(&shows, choices, dice.between(1_000, 2 * cast::PATIENCE_MS)))
}

fn anything(cue: &mut Cue<'_>, dice: &mut SeededDice) -> Option<Thing> {
    if cue.is_wide && dice.percent(30) {
        return looks_wide(cue, dice);
    }
    let asking = if cue.may_ask { 3 } else { 0 };
    match dice.weighed(&[3, 3, asking, asking, 2, 2, 2, 2, 1, asking, 2, 2, 1, 2]) {
        0 => cue.note(),
        1 => cue.refused(),
        2 => asks(cue, dice),
        3 => spawns(cue, dice),
        4 => cue.for_thread("sess-000000000000".to_owned()),
        6 => cue.sets_timer(dice),
        7 => cue.ends_timer(dice),
        8 => todo(dice),
        9 => waits(cue, dice),
        10 => Cue::primitive(primitives::no_thread(dice.one_of(cue.children)?)),
        11 => {
            let (child, to) = (dice.one_of(cue.children).cloned()?, dice.one_of(&[cast::AGENT, cast::TOOL])?);
            cue.steers(child, to)
        }
        12 => Cue::primitive(primitives::asks()),
        13 => asks_a_person(dice),
        _ => {
            let child = dice.one_of(cue.children).cloned();
            cue.for_thread(child.unwrap_or_else(|| "no-thread".to_owned()))
        }
    }
}
