//! What one message from outside may use, and what it has used. Pure data: kinds of use, amounts of them,
//! and the limits that an organism's file sets.

use serde::{Deserialize, Serialize};
use systole_wire::money::{Currency, Money, decimal};

use super::codes::Code;
use super::time::stretch;

/// What is limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Measure {
    /// Calls and spawns.
    Messages,
    /// Child threads.
    Children,
    /// Turns of one call.
    Turns,
    /// Milliseconds in which something was worked on.
    Time,
    /// Tokens of models.
    Tokens,
    /// What models cost, in millionths of that currency's unit.
    Money(Coin),
}

/// A currency, as a fold keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Coin([u8; 3]);

impl Coin {
    /// The currency.
    pub fn currency(self) -> Option<Currency> {
        std::str::from_utf8(&self.0).ok().and_then(Currency::parse)
    }
}

impl From<Currency> for Coin {
    fn from(currency: Currency) -> Coin {
        Coin(currency.letters())
    }
}

/// Money that was used: nothing so far, or an amount of one currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Millionths of the currency's unit.
    pub micros: u64,
    /// The currency; none where nothing was spent yet.
    pub coin: Option<Coin>,
}

impl Spent {
    /// An amount, where one is known.
    pub fn of(money: Option<Money>) -> Spent {
        money.map_or_else(Spent::default, |money| Spent {
            micros: money.micros,
            coin: Some(money.currency.into()),
        })
    }

    /// This and that. An amount in another currency is left out: the door lets none in.
    fn and(self, other: Spent) -> Spent {
        match (self.coin, other.coin) {
            (None, _) => other,
            (Some(_), Some(coin)) if self.coin == Some(coin) => {
                Spent { micros: self.micros.saturating_add(other.micros), ..self }
            }
            _ => self,
        }
    }

    /// The amount; none where nothing was spent.
    pub fn money(self) -> Option<Money> {
        Some(Money { micros: self.micros, currency: self.coin?.currency()? })
    }
}

impl Measure {
    /// The word for it in core payloads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Measure::Messages => "messages",
            Measure::Children => "children",
            Measure::Turns => "turns",
            Measure::Time => "time",
            Measure::Tokens => "tokens",
            Measure::Money(_) => "money",
        }
    }

    /// Whether the word is one for several things.
    pub const fn is_plural(self) -> bool {
        !matches!(self, Measure::Time | Measure::Money(_))
    }

    /// Reads the word beside an amount of it, which says the currency of money.
    pub fn parse(text: &str, amount: &str) -> Option<Measure> {
        if text == "money" {
            return Some(Measure::Money(Money::parse(amount)?.currency.into()));
        }
        let all = [Measure::Messages, Measure::Children, Measure::Turns, Measure::Time, Measure::Tokens];
        all.into_iter().find(|measure| measure.as_str() == text)
    }

    /// The code by which its end is known. The turns of a call are messages to its listener.
    pub const fn code(self) -> Code {
        match self {
            Measure::Messages | Measure::Turns => Code::MessagesBudget,
            Measure::Children => Code::ChildrenBudget,
            Measure::Time => Code::TimeBudget,
            Measure::Tokens => Code::TokensBudget,
            Measure::Money(_) => Code::MoneyBudget,
        }
    }
}

/// Amounts of what is used by a message from outside and everything it brings about. A further kind of
/// use is a further field, and a line in `and`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Use {
    /// Calls and spawns that were taken.
    pub messages: u64,
    /// Child threads that were begun.
    pub children: u64,
    /// Tokens of models: what is kept for calls that have no result, and what those with one used.
    pub tokens: u64,
    /// The same for what models cost.
    pub spent: Spent,
}

impl Use {
    /// Nothing.
    pub const NOTHING: Use =
        Use { messages: 0, children: 0, tokens: 0, spent: Spent { micros: 0, coin: None } };
    /// What a call to a peer uses.
    pub const CALL: Use = Use { messages: 1, ..Use::NOTHING };
    /// What a spawn uses: the child, and the message that begins it.
    pub const SPAWN: Use = Use { messages: 1, children: 1, ..Use::NOTHING };

    /// What calls to so many peers use.
    pub const fn calls(count: u64) -> Use {
        Use { messages: count, ..Use::NOTHING }
    }

    /// This and that.
    #[must_use]
    pub fn and(self, other: Use) -> Use {
        Use {
            messages: self.messages.saturating_add(other.messages),
            children: self.children.saturating_add(other.children),
            tokens: self.tokens.saturating_add(other.tokens),
            spent: self.spent.and(other.spent),
        }
    }

    /// This without what was kept of tokens and money, and not used after all.
    #[must_use]
    pub fn without(self, kept: Use) -> Use {
        let micros = self.spent.micros.saturating_sub(kept.spent.micros);
        let spent =
            if self.spent.coin == kept.spent.coin { Spent { micros, ..self.spent } } else { self.spent };
        Use { tokens: self.tokens.saturating_sub(kept.tokens), spent, ..self }
    }
}

/// What a child may use, with all below it, where that is limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Ceiling {
    /// Most calls and spawns.
    pub messages: Option<u64>,
    /// Most tokens.
    pub tokens: Option<u64>,
    /// The most that models may cost.
    pub spent: Option<Spent>,
}

impl Ceiling {
    /// This one, or what is wanted where that is less. An amount in another currency counts for nothing.
    pub fn within(self, wanted: Ceiling) -> Ceiling {
        let least = |own: Option<u64>, wanted: Option<u64>| own.into_iter().chain(wanted).min();
        let spent = match (self.spent, wanted.spent) {
            (Some(own), Some(other)) if own.coin == other.coin && other.micros < own.micros => Some(other),
            (Some(own), _) => Some(own),
            (None, other) => other,
        };
        Ceiling {
            messages: least(self.messages, wanted.messages),
            tokens: least(self.tokens, wanted.tokens),
            spent,
        }
    }
}

/// What one message from outside may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budgets {
    /// Most calls and spawns.
    pub messages: u64,
    /// How deep calls and spawns may nest, both counted together from the top call on.
    pub depth: usize,
    /// Most child threads, at all depths together.
    pub children: u64,
    /// How long anything of it may be worked on, in milliseconds; none where that is not limited.
    pub wall_ms: Option<u64>,
    /// Most tokens of models; none where they are not limited.
    pub tokens: Option<u64>,
    /// The most that models may cost; none where that is not limited.
    pub money: Option<Money>,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets { messages: 500, depth: 6, children: 32, wall_ms: None, tokens: None, money: None }
    }
}

/// When calls that repeat themselves are told and refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loops {
    /// The how many-th of the same calls is told.
    pub told: u32,
    /// The how many-th is refused.
    pub refused: u32,
    /// How many rounds with one party may bring nothing new.
    pub ping_pong: u32,
}

impl Default for Loops {
    fn default() -> Loops {
        Loops { told: 3, refused: 5, ping_pong: 6 }
    }
}

/// A limit, and how much of it is used: at first one that leaves no room for what was wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// What of.
    pub what: Measure,
    /// How much of it was used.
    pub used: u64,
    /// How much there was.
    pub limit: u64,
}

impl Exceeded {
    /// An amount of it as core payloads carry it: a number, a stretch of time with its unit, or money with
    /// its currency.
    pub fn written(&self, amount: u64) -> String {
        match self.what {
            Measure::Time => stretch(amount),
            Measure::Money(coin) => match coin.currency() {
                Some(currency) => Money { micros: amount, currency }.to_string(),
                None => decimal(amount),
            },
            Measure::Messages | Measure::Children | Measure::Turns | Measure::Tokens => amount.to_string(),
        }
    }
}

/// What a record says of the time that a message from outside takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocked {
    /// Whether the time runs from here on.
    pub runs: bool,
    /// How long it ran until here, in milliseconds.
    pub used_ms: u64,
    /// How long it may.
    pub limit_ms: u64,
}
