//! One mutation of a JSON value, somewhere in it.

use serde_json::{Map, Value, json};

use super::dice::Dice;

/// Changes one place of a value.
pub(super) fn once(value: &mut Value, pool: &[Value], dice: &mut Dice) {
    let mut places = count(value);
    places = dice.below(places);
    at(value, &mut places, pool, dice);
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => fields.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// Goes to the place with that number, counting down.
fn at(value: &mut Value, left: &mut usize, pool: &[Value], dice: &mut Dice) -> bool {
    if *left == 0 {
        change(value, pool, dice);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| at(item, left, pool, dice)),
        Value::Object(fields) => fields.values_mut().any(|field| at(field, left, pool, dice)),
        _ => false,
    }
}

fn change(value: &mut Value, pool: &[Value], dice: &mut Dice) {
    let other = pool[dice.below(pool.len())].clone();
    match value {
        Value::Object(fields) if !dice.one_in(6) => in_object(fields, other, dice),
        Value::Array(items) if !dice.one_in(6) => match (dice.below(4), items.len()) {
            (0, 1..) => drop(items.remove(dice.below(items.len()))),
            (1, 1..) => {
                let again = items[dice.below(items.len())].clone();
                items.push(again);
            }
            (2, 2..) => items.swap(0, 1),
            _ => items.push(other),
        },
        scalar => {
            *scalar = match dice.below(6) {
                0 => Value::Null,
                1 => json!([scalar.clone()]),
                2 => Value::String(
                    scalar.as_str().map_or_else(|| scalar.to_string(), |text| format!("{text} ")),
                ),
                _ => other,
            }
        }
    }
}

fn in_object(fields: &mut Map<String, Value>, other: Value, dice: &mut Dice) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let all = ["alpha", "beta", "gamma", "delta", "one", ".", ".any", "..alpha", "item"];
    match (dice.below(3), keys.is_empty()) {
        (0, false) => drop(fields.remove(&keys[dice.below(keys.len())])),
        (1, false) => {
            let moved = fields.remove(&keys[dice.below(keys.len())]).unwrap_or_default();
            fields.insert(dice.pick(&all).to_owned(), moved);
        }
        _ => drop(fields.insert(dice.pick(&all).to_owned(), other)),
    }
}
