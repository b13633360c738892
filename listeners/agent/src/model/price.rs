//! The cost of tokens: exact, in millionths, rounded up once at the end. Without a price or a count, the cost is
//! unknown: `None`, never zero.

use systole_kit::money::Money;

use super::TokenUsage;
use crate::spec::Price;

/// The most that a request may use and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestReserve {
    /// Tokens, including those of the answer.
    pub tokens: u64,
    /// Money, if the model has a price.
    pub money: Option<Money>,
}

/// The cost of a usage. `None` if the model has no price or the provider did not report both counts.
#[must_use]
pub fn compute_cost(price: Option<&Price>, usage: &TokenUsage) -> Option<Money> {
    let (price, read, written) = (price?, usage.tokens_in?, usage.tokens_out?);
    let cached = usage.cached.unwrap_or(0).min(read);
    let kept = usage.cache_write.unwrap_or(0).min(read - cached);
    let [cached_price, kept_price] = choose_cache_prices(price);
    sum_amounts(
        price,
        [
            (read - cached - kept, price.tokens_in),
            (cached, cached_price),
            (kept, kept_price),
            (written, price.tokens_out),
        ],
    )
}

/// The most that a request may cost if it reads `tokens_in` and writes at most `max_output`.
#[must_use]
pub fn reserve_cost(price: Option<&Price>, tokens_in: u64, max_output: u64) -> RequestReserve {
    let money = price.and_then(|price| {
        let [cached, kept] = choose_cache_prices(price);
        let prices = [price.tokens_in, cached, kept];
        let dearest = prices.into_iter().max_by_key(|price| price.micros).unwrap_or(price.tokens_in);
        let none = (0, price.tokens_in);
        sum_amounts(price, [(tokens_in, dearest), (max_output, price.tokens_out), none, none])
    });
    RequestReserve { tokens: tokens_in.saturating_add(max_output), money }
}

/// The prices of tokens that come from the cache, and of those that are written to it.
fn choose_cache_prices(price: &Price) -> [Money; 2] {
    [price.cached, price.cache_write].map(|own| own.unwrap_or(price.tokens_in))
}

/// The sum of the amounts. `None` for several currencies or a price for zero tokens. A sum beyond the range becomes
/// the maximum, so that a budget refuses it.
fn sum_amounts(price: &Price, items: [(u64, Money); 4]) -> Option<Money> {
    let currency = price.tokens_in.currency;
    let one = items.iter().all(|(_, money)| money.currency == currency);
    if !one || price.per == 0 {
        return None;
    }
    let sum = items.iter().fold(0_u128, |sum, (tokens, money)| {
        sum.saturating_add(u128::from(*tokens) * u128::from(money.micros))
    });
    let micros = u64::try_from(sum.div_ceil(u128::from(price.per))).unwrap_or(u64::MAX);
    Some(Money { micros, currency })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(amounts: [&str; 3], per: u64) -> Price {
        let money = |amount: &str| Money::parse(&format!("{amount} USD")).expect("an amount");
        let [read, written, cached] = amounts;
        let cached = (!cached.is_empty()).then(|| money(cached));
        Price { tokens_in: money(read), tokens_out: money(written), cached, cache_write: None, per }
    }

    fn usage(read: u64, written: u64, cached: Option<u64>) -> TokenUsage {
        TokenUsage { tokens_in: Some(read), tokens_out: Some(written), cached, ..TokenUsage::default() }
    }

    #[test]
    fn a_usage_costs_to_the_millionth_and_is_rounded_up_once() {
        let cost =
            |price: &Price, usage: &TokenUsage| compute_cost(Some(price), usage).map(|money| money.micros);
        let smart = price(["3", "15", "0.3"], 1_000_000);
        assert_eq!(cost(&smart, &usage(1_000, 200, Some(900))), Some(300 + 270 + 3_000));
        assert_eq!(cost(&smart, &usage(1_000, 200, None)), Some(3_000 + 3_000));
        assert_eq!(cost(&smart, &usage(0, 0, None)), Some(0));
        // 0.3 millionths plus 0.3 millionths are 0.6, rounded up to one: not two, not zero.
        assert_eq!(cost(&price(["0.3", "0.3", ""], 1_000_000), &usage(1, 1, None)), Some(1));
        assert_eq!(
            cost(&smart, &usage(10, 0, Some(99))),
            Some(3),
            "no more comes from a cache than was read"
        );
        assert_eq!(cost(&price(["9999999", "9999999", ""], 1), &usage(u64::MAX, 1, None)), Some(u64::MAX));
    }

    #[test]
    fn tokens_that_are_written_to_the_cache_have_a_price_of_their_own() {
        let smart = price(["3", "15", "0.3"], 1_000_000);
        let smart = Price { cache_write: Money::parse("3.75 USD"), ..smart };
        let used = TokenUsage { cache_write: Some(60), ..usage(1_000, 200, Some(900)) };
        let cost = compute_cost(Some(&smart), &used).map(|money| money.micros);
        assert_eq!(cost, Some(40 * 3 + 270 + 225 + 3_000));
        // More cannot be written than was read besides.
        let odd = TokenUsage { cache_write: Some(600), ..used };
        let cost = compute_cost(Some(&smart), &odd).map(|money| money.micros);
        assert_eq!(cost, Some(270 + 375 + 3_000));
        let kept = reserve_cost(Some(&smart), 1_000, 0).money.map(|money| money.micros);
        assert_eq!(kept, Some(3_750), "all of it may be written to the cache");
    }

    #[test]
    fn what_has_no_price_or_no_count_costs_nothing_that_is_known() {
        let smart = price(["3", "15", ""], 1_000_000);
        assert_eq!(compute_cost(None, &usage(1, 1, None)), None);
        assert_eq!(compute_cost(Some(&smart), &TokenUsage { tokens_out: None, ..usage(1, 1, None) }), None);
        assert_eq!(compute_cost(Some(&Price { per: 0, ..smart }), &usage(1, 1, None)), None);
        let euro = Money::parse("1 EUR").expect("an amount");
        assert_eq!(compute_cost(Some(&Price { tokens_out: euro, ..smart }), &usage(1, 1, None)), None);
    }

    #[test]
    fn a_reserve_is_the_most_that_a_request_may_cost() {
        let smart = price(["3", "15", "3.75"], 1_000_000);
        let kept = reserve_cost(Some(&smart), 1_000, 200);
        assert_eq!((kept.tokens, kept.money.map(|money| money.micros)), (1_200, Some(3_750 + 3_000)));
        assert_eq!(reserve_cost(None, u64::MAX, 1), RequestReserve { tokens: u64::MAX, money: None });
    }
}
