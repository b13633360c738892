//! How bad a run is: how often each fault strikes. Every seed draws its own, many of them none at all,
//! because faults hide one another where all of them strike all the time.

use systole::cli::soak::dice::Dice;

/// How often in a thousand each fault strikes where it can.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Weather {
    /// A request or a receipt does not arrive.
    pub(crate) lost: u64,
    /// A request arrives twice.
    pub(crate) twice: u64,
    /// A commit ends without anybody knowing whether it is stored.
    pub(crate) unknown: u64,
    /// The disk is full.
    pub(crate) full: u64,
    /// A look into the log fails.
    pub(crate) blind: u64,
    /// A listener does not do what it should.
    pub(crate) unruly: u64,
    /// A reply comes twice.
    pub(crate) repeated: u64,
    /// A listener outlives the pump, and answers the next one.
    pub(crate) undead: u64,
    /// A listener goes on although it was called back.
    pub(crate) stubborn: u64,
    /// A life of the pump ends by a death, not by a drain.
    pub(crate) deadly: u64,
    /// Of such deaths, those that come at one of the first steps of a life.
    pub(crate) early: u64,
    /// A start finds another configuration.
    pub(crate) changed: u64,
    /// The wall clock is set.
    pub(crate) clock: u64,
}

impl Weather {
    /// The weather of a seed.
    pub(crate) fn of(dice: &mut Dice) -> Weather {
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
        }
    }

    /// Whether no fault strikes any more.
    pub(crate) fn is_calm(&self) -> bool {
        *self == Weather::calm()
    }

    /// No fault any more.
    pub(crate) fn calm() -> Weather {
        Weather::default()
    }
}
