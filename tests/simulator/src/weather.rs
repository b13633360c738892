//! How bad a run is: how often each fault strikes. Every seed draws its own rates, and many seeds have
//! no faults, because constant faults hide one another.

use systole_soak::dice::SeededDice;

/// How often in a thousand each possible fault strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Weather {
    /// A request or a receipt is lost.
    pub(crate) lost: u64,
    /// A request arrives twice.
    pub(crate) twice: u64,
    /// A commit ends with an unknown outcome.
    pub(crate) unknown: u64,
    /// The disk is full.
    pub(crate) full: u64,
    /// A read of the log fails.
    pub(crate) blind: u64,
    /// A listener breaks the rules.
    pub(crate) unruly: u64,
    /// A reply comes twice.
    pub(crate) repeated: u64,
    /// A listener outlives the pump, and answers the next one.
    pub(crate) undead: u64,
    /// A listener goes on although it was called back.
    pub(crate) stubborn: u64,
    /// A life of the pump ends by a kill, not by a drain.
    pub(crate) deadly: u64,
    /// The share of such kills that come at one of the first steps of a life.
    pub(crate) early: u64,
    /// A start finds another configuration.
    pub(crate) changed: u64,
    /// The wall clock is set.
    pub(crate) clock: u64,
    /// A worker on another machine breaks the rules: it acknowledges too early, or gives no sign of life.
    pub(crate) careless: u64,
    /// The broker cannot be reached for a while.
    pub(crate) cut: u64,
    /// A life of the pump that would be killed is held instead, and goes on when another has taken over.
    pub(crate) held: u64,
}

impl Weather {
    /// The faults of a seed.
    pub(crate) fn of(dice: &mut SeededDice) -> Weather {
        let mut up_to = |most: u64| if dice.permille(500) { dice.below(most + 1) } else { 0 };
        Weather {
            lost: up_to(200),
            twice: up_to(200),
            unknown: up_to(200),
            full: up_to(150),
            blind: up_to(100),
            unruly: up_to(600),
            repeated: up_to(200),
            undead: up_to(800),
            stubborn: up_to(800),
            deadly: 400 + up_to(600),
            early: up_to(600),
            changed: up_to(500),
            clock: up_to(500),
            careless: up_to(300),
            cut: up_to(600),
            held: up_to(400),
        }
    }

    /// Whether faults have ended.
    pub(crate) fn is_calm(&self) -> bool {
        *self == Weather::calm()
    }

    /// A weather without faults.
    pub(crate) fn calm() -> Weather {
        Weather::default()
    }
}
