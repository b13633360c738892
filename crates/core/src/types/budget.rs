//! The budgets of one message from outside: the kinds of use, the amounts used, and the limits from the
//! organism's file. Pure data.

use serde::{Deserialize, Serialize};
use systole_wire::money::{Currency, Money, write_decimal};

use super::codes::Code;
use super::limits;
use super::time::spell_stretch;

/// What is limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Measure {
    /// Calls and spawns.
    Messages,
    /// Child threads.
    Children,
    /// Turns of one call.
    Turns,
    /// Milliseconds of work.
    Time,
    /// Tokens of models.
    Tokens,
    /// The cost of model calls, in millionths of the currency's unit.
    Money(CurrencyCode),
    /// Requests to models.
    Requests,
    /// How deep calls and spawns are nested.
    Depth,
}

/// A currency code, in the form that a fold stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CurrencyCode([u8; 3]);

impl CurrencyCode {
    /// The currency.
    pub fn currency(self) -> Option<Currency> {
        std::str::from_utf8(&self.0).ok().and_then(Currency::parse)
    }
}

impl From<Currency> for CurrencyCode {
    fn from(currency: Currency) -> CurrencyCode {
        CurrencyCode(currency.letters())
    }
}

/// Money used so far: nothing, or an amount in one currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MoneySpent {
    /// Millionths of the currency's unit.
    pub micros: u64,
    /// The currency. `None` if nothing was spent yet.
    pub coin: Option<CurrencyCode>,
}

impl MoneySpent {
    /// The amount, or nothing if it is unknown.
    pub fn from_money(money: Option<Money>) -> MoneySpent {
        money.map_or_else(MoneySpent::default, |money| MoneySpent {
            micros: money.micros,
            coin: Some(money.currency.into()),
        })
    }

    /// The sum. An amount in another currency is left out, because the door rejects such amounts.
    fn sum_with(self, other: MoneySpent) -> MoneySpent {
        match (self.coin, other.coin) {
            (None, _) => other,
            (Some(_), Some(coin)) if self.coin == Some(coin) => {
                MoneySpent { micros: self.micros.saturating_add(other.micros), ..self }
            }
            _ => self,
        }
    }

    /// The amount. `None` if nothing was spent.
    pub fn money(self) -> Option<Money> {
        Some(Money { micros: self.micros, currency: self.coin?.currency()? })
    }
}

impl Measure {
    /// The measure's name in core payloads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Measure::Messages => "messages",
            Measure::Children => "children",
            Measure::Turns => "turns",
            Measure::Time => "time",
            Measure::Tokens => "tokens",
            Measure::Money(_) => "money",
            Measure::Requests => "requests",
            Measure::Depth => "depth",
        }
    }

    /// Whether the name is a plural.
    pub const fn is_plural(self) -> bool {
        !matches!(self, Measure::Time | Measure::Money(_) | Measure::Depth)
    }

    /// Reads the name. For money, `amount` gives the currency.
    pub fn parse(text: &str, amount: &str) -> Option<Measure> {
        if text == "money" {
            return Some(Measure::Money(Money::parse(amount)?.currency.into()));
        }
        let counted = [Measure::Messages, Measure::Children, Measure::Turns, Measure::Tokens];
        let mut all = counted.into_iter().chain([Measure::Time, Measure::Requests, Measure::Depth]);
        all.find(|measure| measure.as_str() == text)
    }

    /// The error code for a used-up budget. The turns of a call count as messages to its listener.
    pub const fn code(self) -> Code {
        match self {
            Measure::Messages | Measure::Turns => Code::MessagesBudget,
            Measure::Children => Code::ChildrenBudget,
            Measure::Time => Code::TimeBudget,
            Measure::Tokens => Code::TokensBudget,
            Measure::Money(_) => Code::MoneyBudget,
            Measure::Requests => Code::RequestsBudget,
            Measure::Depth => Code::DepthBudget,
        }
    }
}

/// Amounts used by a message from outside and everything that follows from it. A new kind of use needs a
/// new field and a line in `and`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UsedAmounts {
    /// Calls and spawns.
    pub messages: u64,
    /// Child threads.
    pub children: u64,
    /// Model tokens: the amount reserved by calls without a result, plus the amount used by calls with
    /// one.
    pub tokens: u64,
    /// The cost of models, counted in the same way.
    pub spent: MoneySpent,
    /// Items of replies that were refused, unless the messages were used up.
    pub refused: u64,
    /// Requests to models, without those that failed and cost nothing.
    pub requests: u64,
}

impl UsedAmounts {
    /// Nothing.
    pub const NOTHING: UsedAmounts = UsedAmounts {
        messages: 0,
        children: 0,
        tokens: 0,
        spent: MoneySpent { micros: 0, coin: None },
        refused: 0,
        requests: 0,
    };
    /// The use of one call to a peer.
    pub const CALL: UsedAmounts = UsedAmounts { messages: 1, ..UsedAmounts::NOTHING };
    /// The use of a spawn: the child and its first message.
    pub const SPAWN: UsedAmounts = UsedAmounts { messages: 1, children: 1, ..UsedAmounts::NOTHING };

    /// The use of an item that was refused.
    pub const REFUSED: UsedAmounts = UsedAmounts { refused: 1, ..UsedAmounts::NOTHING };

    /// The use of `count` calls to peers.
    pub const fn from_calls(count: u64) -> UsedAmounts {
        UsedAmounts { messages: count, ..UsedAmounts::NOTHING }
    }

    /// The sum.
    #[must_use]
    pub fn sum_with(self, other: UsedAmounts) -> UsedAmounts {
        UsedAmounts {
            messages: self.messages.saturating_add(other.messages),
            children: self.children.saturating_add(other.children),
            tokens: self.tokens.saturating_add(other.tokens),
            spent: self.spent.sum_with(other.spent),
            refused: self.refused.saturating_add(other.refused),
            requests: self.requests.saturating_add(other.requests),
        }
    }

    /// The use as the rules of a message from outside count it. With a limit of requests, refused items count as
    /// messages. Without one, neither they nor the requests count.
    #[must_use]
    pub fn count_under(self, budgets: Option<&Budgets>) -> UsedAmounts {
        match budgets.and_then(|budgets| budgets.requests) {
            Some(_) => {
                UsedAmounts { messages: self.messages.saturating_add(self.refused), refused: 0, ..self }
            }
            None => UsedAmounts { refused: 0, requests: 0, ..self },
        }
    }

    /// This use minus the tokens, the money and the requests that were reserved but not used.
    #[must_use]
    pub fn subtract_use(self, kept: UsedAmounts) -> UsedAmounts {
        let micros = self.spent.micros.saturating_sub(kept.spent.micros);
        let spent =
            if self.spent.coin == kept.spent.coin { MoneySpent { micros, ..self.spent } } else { self.spent };
        let requests = self.requests.saturating_sub(kept.requests);
        UsedAmounts { tokens: self.tokens.saturating_sub(kept.tokens), spent, requests, ..self }
    }
}

/// Limits for a child and all threads below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Ceiling {
    /// Most calls and spawns.
    pub messages: Option<u64>,
    /// Most tokens.
    pub tokens: Option<u64>,
    /// Highest cost of models.
    pub spent: Option<MoneySpent>,
}

impl Ceiling {
    /// The smaller limit of each kind. An amount in another currency is ignored.
    pub fn limit_to(self, wanted: Ceiling) -> Ceiling {
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

/// The budgets of one message from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budgets {
    /// Most calls and spawns.
    pub messages: u64,
    /// How deep calls and spawns may nest, counted together from the top call.
    pub depth: usize,
    /// Most child threads, summed over all depths.
    pub children: u64,
    /// Longest working time in milliseconds. `None` means no limit.
    pub wall_ms: Option<u64>,
    /// Most model tokens. `None` means no limit.
    pub tokens: Option<u64>,
    /// Highest cost of models. `None` means no limit.
    pub money: Option<Money>,
    /// Most requests to models. `None` only in configurations that were stored before this limit existed. Under
    /// these, refused items do not count as messages, and a call that is nested too deep goes on.
    pub requests: Option<u64>,
    /// Whether each call that has asked a model keeps a request for its final, and unusable answers give a warning
    /// like other messages. `false` only in configurations that were stored before these rules existed: under these,
    /// one request is kept for all calls.
    pub keeps_finals: bool,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets {
            messages: 500,
            depth: 6,
            children: 32,
            wall_ms: None,
            tokens: None,
            money: None,
            requests: Some(limits::REQUESTS.into()),
            keeps_finals: true,
        }
    }
}

/// When repeated calls get a warning, and when they are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopLimits {
    /// The warning goes out with this many identical calls.
    pub told: u32,
    /// This many identical calls are refused.
    pub refused: u32,
    /// How many rounds with one party may bring nothing new.
    pub ping_pong: u32,
}

impl Default for LoopLimits {
    fn default() -> LoopLimits {
        LoopLimits { told: 3, refused: 5, ping_pong: 6 }
    }
}

/// A limit and how much of it is used. Usually the first limit that is too small for the requested use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExceededLimit {
    /// The kind of use.
    pub what: Measure,
    /// The amount used.
    pub used: u64,
    /// The limit.
    pub limit: u64,
}

impl ExceededLimit {
    /// The amount in the form used by core payloads: a number, a duration with its unit, or money with its
    /// currency.
    pub fn write_amount(&self, amount: u64) -> String {
        match self.what {
            Measure::Time => spell_stretch(amount),
            Measure::Money(coin) => match coin.currency() {
                Some(currency) => Money { micros: amount, currency }.to_string(),
                None => write_decimal(amount),
            },
            Measure::Messages | Measure::Children | Measure::Turns | Measure::Tokens => amount.to_string(),
            Measure::Requests | Measure::Depth => amount.to_string(),
        }
    }
}

/// What a record says about the working time of a message from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedTime {
    /// Whether the time runs from this record on.
    pub runs: bool,
    /// Working time up to this record, in milliseconds.
    pub used_ms: u64,
    /// The limit, in milliseconds.
    pub limit_ms: u64,
}
