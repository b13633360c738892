//! What the classes admit and the schema does not: rules between parts, counts of groups, and patterns that the two
//! languages cannot check alike. The pump judges these.
//!
//! A record or a type comes in; lines of words go out.

use crate::form::{ElementInside, JsonRecord};
use crate::json::bonds::{BondRules, SlotKeys};
use crate::json::schema::{describe_order, find_repeated};

/// The rules between the parts of a class.
pub(super) fn list_rules(class: &str, record: &JsonRecord<'_>) -> Vec<String> {
    let slots = record.slots();
    let words = match record.inside {
        ElementInside::Nothing | ElementInside::Value(_) | ElementInside::Text => Vec::new(),
        ElementInside::Listed(_) => vec![describe_order(record)],
        ElementInside::Named(particle) => {
            let mut rules = BondRules::default();
            SlotKeys(&slots).add_needed(particle, &mut rules);
            let groups = slots.iter().filter(|slot| slot.many);
            let groups = groups.filter(|slot| find_repeated(particle, slot.declaration).is_some());
            let counts =
                groups.map(|slot| format!("which numbers of {} a group that repeats allows", slot.key));
            rules.words().into_iter().chain(counts).collect()
        }
    };
    words.into_iter().map(|words| format!("{class}: {words}")).collect()
}
