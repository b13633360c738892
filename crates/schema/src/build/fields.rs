//! Reads `name=value` arguments from a command line into values for a payload.
//!
//! A global element and arguments come in. Values under the names that the schema knows go out, or every wrong field.
//! Dots lead inward (`address.city`), a repeated name repeats its element, and `line[2].sku` selects one of several.
//! `@mode` is an attribute if an element has the same name, and `.` is the element's own text. Missing values and
//! misfits are found later, when the payload is built.

use crate::build::given::{GivenPart, GivenValue, ValueSlip};
use crate::build::value_messages;
use crate::form::{ANY, ElementInside, JsonForm, JsonRecord, OWN, RecordSlot};
use crate::nearest::find_nearest;
use crate::shape::{Declaration, SchemaShape};

/// The value of a part that is there and holds nothing: no argument of a command line has this character.
pub(crate) const NOTHING: &str = "\0";

/// The values of a payload of this element.
pub(crate) fn read_fields(
    schema: &SchemaShape,
    root: &Declaration,
    arguments: &[&str],
) -> Result<GivenPart, Vec<ValueSlip>> {
    let record = JsonRecord::of_root(schema, root.of);
    let reading = FieldArguments { schema };
    let (mut entries, mut slips) = (Vec::new(), Vec::new());
    let mut bare = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let Some((name, value)) = split_field(&record, argument).filter(|(name, _)| !name.is_empty()) else {
            bare.push(*argument);
            continue;
        };
        let path = format!("/{}", root.name);
        let field = FieldArgument { path: &path, whole: argument, name, value, at };
        match reading.put_field(root, &record, &mut entries, &field) {
            Ok(FieldPlacement::Yes) => {}
            Ok(FieldPlacement::Full) => slips.push(field.make_slip(
                format!("{name}: comes twice, at most once is allowed"),
                format!("{name} once"),
                format!("keep one {name}"),
            )),
            Err(slip) => slips.push(*slip),
        }
    }
    match bare.as_slice() {
        [] => {}
        [only] if record.has_text() => entries.push((OWN.to_owned(), make_leaf(only, arguments.len()))),
        several => slips.push(report_unnamed(root, &record, several)),
    }
    slips.truncate(crate::limits::SLIPS);
    if slips.is_empty() {
        Ok(GivenPart { given: GivenValue::Record(entries), offset: 0 })
    } else {
        Err(slips)
    }
}

/// Splits an argument that names a field. If the element takes text, an argument that names no known field is part of
/// that text.
fn split_field<'a>(record: &JsonRecord<'_>, argument: &'a str) -> Option<(&'a str, &'a str)> {
    let (name, value) = argument.split_once('=')?;
    if !record.has_text() || name == OWN {
        return Some((name, value));
    }
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    (is_name && !record.attributes.is_empty()).then_some((name, value))
}

/// The name of the field that an argument is for; a text without a name is the element's own.
pub(crate) fn find_name<'a>(record: &JsonRecord<'_>, argument: &'a str) -> &'a str {
    split_field(record, argument).map_or(OWN, |(name, _)| name)
}

fn report_unnamed(root: &Declaration, record: &JsonRecord<'_>, given: &[&str]) -> ValueSlip {
    let keys = value_messages::field_names(record);
    let received = given.join(" ");
    let (message, fix) = match (record.has_text(), keys.first()) {
        (true, _) => {
            let count = given.len().to_string();
            let message = format!("{}: takes one text, {count} were given", root.name);
            (message, format!("put it in quotes: {}", crate::build::sketch::quote_text(&received)))
        }
        (false, Some(key)) => {
            let value = given.first().map_or("", |first| first.trim_start_matches('='));
            let message = format!("{}: a value has no name", root.name);
            let fix = match keys.iter().find(|known| *known == value) {
                Some(known) => format!("write {known}=…"),
                None => format!("write {key}={}", crate::build::sketch::quote_text(value)),
            };
            (message, fix)
        }
        (false, None) => (format!("{}: holds nothing", root.name), "give no fields".to_owned()),
    };
    let expected = value_messages::fields_of(root, record);
    let received = crate::build::given::shorten_text(received);
    ValueSlip { path: format!("/{}", root.name), place: None, message, expected, received, fix }
}

fn make_leaf(value: &str, at: usize) -> GivenPart {
    GivenPart { given: GivenValue::Text(value.to_owned()), offset: at }
}

/// A field on its way to its place.
#[derive(Clone, Copy)]
struct FieldArgument<'a> {
    /// The place in the payload at which the rest of the name begins.
    path: &'a str,
    /// The argument as given.
    whole: &'a str,
    /// The rest of the name.
    name: &'a str,
    value: &'a str,
    at: usize,
}

impl FieldArgument<'_> {
    fn make_slip(&self, message: String, expected: String, fix: String) -> ValueSlip {
        let received = crate::build::given::shorten_text(self.whole.to_owned());
        ValueSlip { path: self.path.to_owned(), place: None, message, expected, received, fix }
    }
}

enum FieldPlacement {
    Yes,
    /// The place is taken: the field belongs to a further element, if one is allowed.
    Full,
}

/// One step of a name.
enum FieldStep<'m> {
    Own,
    Any,
    Attribute(String),
    Child(RecordSlot<'m>),
}

/// The index of the meant element among several, and the rest of the name.
struct FieldRest<'a> {
    index: Option<usize>,
    name: &'a str,
}

type FieldResult = Result<FieldPlacement, Box<ValueSlip>>;

struct FieldArguments<'m> {
    schema: &'m SchemaShape,
}

impl<'m> FieldArguments<'m> {
    /// Puts a field at its place in a record.
    fn put_field(
        &self,
        owner: &Declaration,
        record: &JsonRecord<'m>,
        entries: &mut Vec<(String, GivenPart)>,
        field: &FieldArgument<'_>,
    ) -> FieldResult {
        let (step, rest) = self.find_step(owner, record, field)?;
        let key = match step {
            FieldStep::Child(slot) => return self.put_child(record, entries, slot, &rest, field),
            FieldStep::Own => OWN.to_owned(),
            FieldStep::Any => {
                entries.push((ANY.to_owned(), make_leaf(field.value, field.at)));
                return Ok(FieldPlacement::Yes);
            }
            FieldStep::Attribute(key) => key,
        };
        if !rest.name.is_empty() || rest.index.is_some() {
            return Err(Box::new(nothing_inside(field, rest.name)));
        }
        if entries.iter().any(|(known, _)| *known == key) {
            return Ok(FieldPlacement::Full);
        }
        entries.push((key, make_leaf(field.value, field.at)));
        Ok(FieldPlacement::Yes)
    }

    /// The part of the record at the beginning of a name: the longest match, because names may contain dots.
    fn find_step<'a>(
        &self,
        owner: &Declaration,
        record: &JsonRecord<'m>,
        field: &FieldArgument<'a>,
    ) -> Result<(FieldStep<'m>, FieldRest<'a>), Box<ValueSlip>> {
        if field.name == OWN && record.has_text() {
            return Ok((FieldStep::Own, FieldRest { index: None, name: "" }));
        }
        if field.name == ANY && record.wildcard().is_some() {
            return Ok((FieldStep::Any, FieldRest { index: None, name: "" }));
        }
        let mut best: Option<(usize, FieldStep<'m>, FieldRest<'a>)> = None;
        let mut offer = |name: &str, step: FieldStep<'m>| {
            let longer = best.as_ref().is_none_or(|(length, ..)| name.len() > *length);
            if let Some(rest) = rest_behind(field.name, name).filter(|_| longer) {
                best = Some((name.len(), step, rest));
            }
        };
        for slot in record.slots() {
            let key = slot.key.clone();
            offer(&slot.declaration.name, FieldStep::Child(slot.clone()));
            offer(&key, FieldStep::Child(slot));
        }
        for attribute in record.attributes {
            let key = record.name_key(attribute);
            offer(&format!("@{}", attribute.name), FieldStep::Attribute(key.clone()));
            offer(&key, FieldStep::Attribute(key.clone()));
        }
        match best {
            Some((_, step, rest)) => Ok((step, rest)),
            None => Err(Box::new(report_unknown(owner, record, field))),
        }
    }

    /// Puts a field into child elements of one name.
    fn put_child(
        &self,
        record: &JsonRecord<'m>,
        entries: &mut Vec<(String, GivenPart)>,
        slot: RecordSlot<'m>,
        rest: &FieldRest<'_>,
        field: &FieldArgument<'_>,
    ) -> FieldResult {
        let name = &slot.key;
        // If the order of children matters, only the last child can be continued.
        let known = match record.inside {
            ElementInside::Listed(_) => {
                entries.len().checked_sub(1).filter(|at| entries.get(*at).is_some_and(|(key, _)| key == name))
            }
            _ => entries.iter().position(|(key, _)| key == name),
        };
        let known = known.unwrap_or_else(|| {
            entries.push((name.clone(), GivenPart { given: GivenValue::List(Vec::new()), offset: field.at }));
            entries.len().saturating_sub(1)
        });
        let Some((_, GivenPart { given: GivenValue::List(instances), .. })) = entries.get_mut(known) else {
            return Ok(FieldPlacement::Full);
        };
        let path = format!("{}/{name}", field.path);
        self.place_value(
            instances,
            slot.declaration,
            slot.many,
            rest,
            &FieldArgument { path: &path, ..*field },
        )
    }

    /// Puts a value into one of the elements of a declaration, or into a new one.
    fn place_value(
        &self,
        instances: &mut Vec<GivenPart>,
        declaration: &'m Declaration,
        many: bool,
        rest: &FieldRest<'_>,
        field: &FieldArgument<'_>,
    ) -> FieldResult {
        let form = JsonForm::of_type(self.schema, declaration.of);
        if let JsonForm::Items(_, item) = form {
            return self.put_items(instances, declaration, item, many, rest, field);
        }
        let number = match rest.index {
            Some(index) if index > instances.len().saturating_add(1) => {
                return Err(Box::new(out_of_order(declaration, index, instances.len(), field)));
            }
            Some(index) => index.saturating_sub(1),
            None => instances.len().saturating_sub(usize::from(matches!(form, JsonForm::Record(_)))),
        };
        if instances.get(number).is_none() && number > 0 && !many {
            return Ok(FieldPlacement::Full);
        }
        let JsonForm::Record(record) = form else {
            if !rest.name.is_empty() {
                return Err(Box::new(nothing_inside(field, rest.name)));
            }
            if instances.get(number).is_some() {
                return Ok(FieldPlacement::Full);
            }
            instances.push(make_leaf(field.value, field.at));
            return Ok(FieldPlacement::Yes);
        };
        if let Some(GivenPart { given: GivenValue::Record(entries), .. }) = instances.get_mut(number) {
            let placed = self.put_within(declaration, &record, entries, rest.name, field)?;
            if matches!(placed, FieldPlacement::Yes) || !many || rest.index.is_some() {
                return Ok(placed);
            }
        }
        let mut entries = Vec::new();
        let placed = self.put_within(declaration, &record, &mut entries, rest.name, field)?;
        instances.push(GivenPart { given: GivenValue::Record(entries), offset: field.at });
        Ok(placed)
    }

    /// Puts a value into a record: at the rest of the name, or as the record's own text.
    fn put_within(
        &self,
        declaration: &'m Declaration,
        record: &JsonRecord<'m>,
        entries: &mut Vec<(String, GivenPart)>,
        name: &str,
        field: &FieldArgument<'_>,
    ) -> FieldResult {
        if !name.is_empty() {
            return self.put_field(declaration, record, entries, &FieldArgument { name, ..*field });
        }
        if record.has_text() {
            return self.put_field(declaration, record, entries, &FieldArgument { name: OWN, ..*field });
        }
        if matches!(field.value, "" | NOTHING) {
            return Ok(FieldPlacement::Yes);
        }
        // The path of a file, in place of a reference to it.
        if declaration.marks.file && field.value.starts_with('@') {
            if entries.iter().any(|(known, _)| known == OWN) {
                return Ok(FieldPlacement::Full);
            }
            entries.push((OWN.to_owned(), make_leaf(field.value, field.at)));
            return Ok(FieldPlacement::Yes);
        }
        let keys = value_messages::field_names(record);
        let message = match keys.as_slice() {
            [] => format!("{}: holds nothing", declaration.name),
            keys => format!("{}: is not a single value, it holds {}", declaration.name, keys.join(", ")),
        };
        let fix = match keys.first() {
            None => format!("write {}= without a value", field.name),
            Some(_) if declaration.marks.file => {
                format!("write {}=@PATH", field.whole.split('=').next().unwrap_or_default())
            }
            Some(key) => {
                format!("write {}.{key}=…", field.whole.split('=').next().unwrap_or_default())
            }
        };
        Err(Box::new(field.make_slip(message, value_messages::fields_of(declaration, record), fix)))
    }

    /// A list in the compact form: the name of its items may be omitted.
    fn put_items(
        &self,
        instances: &mut Vec<GivenPart>,
        declaration: &'m Declaration,
        item: &'m Declaration,
        many: bool,
        rest: &FieldRest<'_>,
        field: &FieldArgument<'_>,
    ) -> FieldResult {
        let named = rest_behind(rest.name, &item.name);
        // With one list an index can only mean an item.
        let (which, inner) = match (named, many) {
            (Some(inner), _) => (rest.index, inner),
            (None, true) => (rest.index, FieldRest { index: None, name: rest.name }),
            (None, false) => (None, FieldRest { index: rest.index, name: rest.name }),
        };
        let number = which.map_or(instances.len().saturating_sub(1), |index| index.saturating_sub(1));
        if number > instances.len() || (number > 0 && !many) {
            return Err(Box::new(out_of_order(
                declaration,
                number.saturating_add(1),
                instances.len(),
                field,
            )));
        }
        if instances.get(number).is_none() {
            instances.push(GivenPart { given: GivenValue::List(Vec::new()), offset: field.at });
        }
        let empty = inner.name.is_empty() && inner.index.is_none() && field.value.is_empty();
        let is_text = matches!(JsonForm::of_type(self.schema, item.of), JsonForm::Value(_) | JsonForm::Text);
        if empty && !is_text || field.value == NOTHING {
            return Ok(FieldPlacement::Yes);
        }
        let Some(GivenPart { given: GivenValue::List(items), .. }) = instances.get_mut(number) else {
            return Ok(FieldPlacement::Full);
        };
        self.place_value(items, item, true, &inner, field)
    }
}

/// The text after a name at the beginning of a path: an index, and the rest after a dot.
fn rest_behind<'a>(path: &'a str, name: &str) -> Option<FieldRest<'a>> {
    let after = path.strip_prefix(name)?;
    let (index, after) = match after.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((digits, after)) => (Some(digits.parse::<usize>().ok().filter(|index| *index > 0)?), after),
        None => (None, after),
    };
    match after.strip_prefix('.') {
        Some(rest) if !rest.is_empty() => Some(FieldRest { index, name: rest }),
        None if after.is_empty() => Some(FieldRest { index, name: "" }),
        _ => None,
    }
}

fn report_unknown(owner: &Declaration, record: &JsonRecord<'_>, field: &FieldArgument<'_>) -> ValueSlip {
    let ends = |c: char| matches!(c, '.' | '[');
    let trimmed = field.name.strip_prefix('@').unwrap_or(field.name);
    let name = trimmed.split(ends).next().unwrap_or_default();
    let keys = value_messages::field_names(record);
    if name.is_empty() {
        return report_nameless(owner, record, &keys, field);
    }
    let near = find_nearest(name, keys.iter().map(String::as_str));
    let mut message = format!("{name}: is not known in {}", owner.name);
    let mut fix = suggest_keys(&keys, field);
    if keys.iter().any(|known| known == name) {
        message = format!("{}: is not a place in {}", field.name, owner.name);
        fix = format!("write {name}, or {name}[1] for the first of several");
    } else if let Some(near) = near {
        message.push_str(&format!(", did you mean {near}"));
        fix = field.whole.replacen(field.name, &field.name.replacen(name, near, 1), 1);
    }
    field.make_slip(message, value_messages::fields_of(owner, record), fix)
}

/// Reports a field whose name has only signs: own text on an element that has none, and slips.
fn report_nameless(
    owner: &Declaration,
    record: &JsonRecord<'_>,
    keys: &[String],
    field: &FieldArgument<'_>,
) -> ValueSlip {
    let no_text = if keys.is_empty() { " holds nothing" } else { " has no text of its own" };
    let why = match field.name {
        OWN => format!("{}{no_text}", owner.name),
        "@" => "the name of an attribute is missing behind @".to_owned(),
        _ => "the name of a field is missing in it".to_owned(),
    };
    let message = format!("{}: {why}", field.name);
    field.make_slip(message, value_messages::fields_of(owner, record), suggest_keys(keys, field))
}

/// What to write instead of a field that is unknown and close to no known field.
fn suggest_keys(keys: &[String], field: &FieldArgument<'_>) -> String {
    let out = format!("leave {} out", field.whole);
    let key = field.whole.split('=').next().unwrap_or_default();
    let before = key.strip_suffix(field.name).unwrap_or_default();
    // A dozen names are enough to recognise the right one.
    let some: Vec<String> = keys.iter().take(12).map(|key| format!("{before}{key}")).collect();
    match some.as_slice() {
        [] => out,
        [only] => format!("write {only}=…, or {out}"),
        some => format!("write one of {}; or {out}", some.join(", ")),
    }
}

fn nothing_inside(field: &FieldArgument<'_>, rest: &str) -> ValueSlip {
    let whole = field.whole.split('=').next().unwrap_or_default();
    let name = whole.strip_suffix(rest).unwrap_or(whole).trim_end_matches('.');
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let message = format!("{name}: is one value, with nothing inside");
    field.make_slip(message, format!("a value, as {name}=…"), format!("write {name}={}", field.value))
}

fn out_of_order(
    declaration: &Declaration,
    index: usize,
    before: usize,
    field: &FieldArgument<'_>,
) -> ValueSlip {
    let name = &declaration.name;
    let next = before.saturating_add(1).to_string();
    let message = format!("{name}[{index}]: comes before {name}[{next}]");
    field.make_slip(message, "numbers from 1, without gaps".to_owned(), renumber_field(field, index, &next))
}

/// The argument with this number instead of the one given: in the current part of the name, or else in the part
/// before.
fn renumber_field(field: &FieldArgument<'_>, index: usize, next: &str) -> String {
    let given = format!("[{index}]");
    let key = field.whole.split('=').next().unwrap_or_default();
    let (before, rest) =
        key.split_at_checked(key.len().saturating_sub(field.name.len())).unwrap_or((key, ""));
    let here = rest.split('.').next().unwrap_or_default().find(&given).map(|at| before.len() + at);
    let Some(at) = here.or_else(|| before.rfind(&given)).or_else(|| key.find(&given)) else {
        return format!("leave {} out", field.whole);
    };
    let (start, end) = (field.whole.get(..at), field.whole.get(at + given.len()..));
    format!("{}[{next}]{}", start.unwrap_or_default(), end.unwrap_or_default())
}
