//! A payload made on the command line: an element by name, and its fields as `name=value`.
//!
//! It finds the listener that takes the element and the schema for it, lets the kit build the payload, and prints the
//! payload on stderr. It sends nothing. An element that no listener takes, and fields that make no payload, are
//! reported with their fix.

use std::cell::{Cell, RefCell};
use std::path::Path;

use systole_kit::QName;
use systole_kit::schema::{GivenFile, RefusedFile, SchemaModel, ValueSlip, find_nearest};

use super::exit::CommandExit;
use super::refusal_text;
use super::screen::Screen;
use super::system_faults;
use systole_api::types::ApiRefusal;
use systole_client::client::local_file::LocalFile;
use systole_core::rules::introspection::model_of;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema, Listener, SchemaId};
use systole_core::types::ids::Name;

/// A payload, and the bytes of the files that its fields name.
pub(super) type BuiltPayload = (Vec<u8>, Vec<Vec<u8>>);

/// A payload of this element for the listener that takes it from outside.
pub(super) fn build_message(
    screen: Screen,
    composition: &Composition,
    element: &str,
    fields: &[String],
    to: Option<&Name>,
) -> Result<BuiltPayload, CommandExit> {
    let (name, schema) =
        find_taker(composition, element, to).map_err(|words| screen.fail(CommandExit::Usage, words))?;
    let schema = composition.schemas.get(schema.0);
    // The file was checked with the same model.
    let model = schema.and_then(|schema| model_of(composition, &schema.text));
    let Some(model) = model else {
        return Err(
            screen.fail(CommandExit::Configuration, format!("the schema of {element} cannot be read"))
        );
    };
    build_with_files(screen, &model, &name.local, fields)
}

/// A payload of an element of this schema.
pub(super) fn build_payload(
    screen: Screen,
    model: &SchemaModel,
    element: &str,
    fields: &[String],
) -> Result<Vec<u8>, CommandExit> {
    build_with_files(screen, model, element, fields).map(|(payload, _)| payload)
}

fn build_with_files(
    screen: Screen,
    model: &SchemaModel,
    element: &str,
    fields: &[String],
) -> Result<BuiltPayload, CommandExit> {
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let (files, unread, unfit) = (RefCell::new(Vec::new()), Cell::new(None), Cell::new(None));
    let take = |given: GivenFile<'_>| {
        let (GivenFile::Path(path) | GivenFile::Data(path)) = given;
        let refuse = |message: String, fix: &str| RefusedFile { message, fix: fix.to_owned() };
        let file = LocalFile::read(Path::new(path)).map_err(|error| {
            let exit = CommandExit::Usage;
            unread.set(Some(system_faults::report_unread(screen, exit, Path::new(path), "the file", &error)));
            refuse(format!("{path} cannot be read"), "another file")
        })?;
        let taken = file.describe_reference().map_err(|refusal| {
            unfit.set(Some(refusal.code));
            refuse(refusal.message.to_string(), refusal.code.fix())
        })?;
        files.borrow_mut().push(file.bytes);
        Ok(taken)
    };
    let made = model.from_fields_with_files(element, &fields, &take);
    if let Some(exit) = unread.get() {
        return Err(exit);
    }
    let Some(made) = made else {
        let known: Vec<&str> = model.elements().collect();
        let listed = format!("; there are {}", known.join(", "));
        let told = match element {
            "" => format!("the name of the element is empty{listed}"),
            _ => {
                format!(
                    "no element {element} is in the schema{}",
                    suggest_name(element, known.into_iter(), &listed)
                )
            }
        };
        return Err(screen.fail(CommandExit::Usage, told));
    };
    match made {
        Ok(made) => {
            screen.say(String::from_utf8_lossy(&made));
            Ok((made, files.into_inner()))
        }
        Err(slips) => {
            for slip in slips {
                report_slip(screen, element, slip, unfit.get().unwrap_or(Code::Invalid));
            }
            Err(CommandExit::Payload)
        }
    }
}

/// Reports an error in given values, in the form of a refusal.
fn report_slip(screen: Screen, element: &str, slip: ValueSlip, code: Code) {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let refusal = ApiRefusal {
        code: code.as_str().to_owned(),
        message: slip.message,
        element: Some(element.to_owned()),
        path: Some(slip.path),
        line: slip.place.map(|(line, _)| number(line)),
        column: slip.place.map(|(_, column)| number(column)),
        expected: Some(slip.expected),
        received: Some(slip.received),
        fix: Some(slip.fix),
        retry_allowed: code.retry_allowed(),
        ..ApiRefusal::default()
    };
    refusal_text::say(screen, &refusal);
}

/// The listener that takes an element from outside, with the element's full name and the schema that judges it.
fn find_taker(
    composition: &Composition,
    element: &str,
    to: Option<&Name>,
) -> Result<(QName, SchemaId), String> {
    if let Some(to) = to.filter(|to| composition.find_listener(to).is_none()) {
        let names = composition.listeners.keys().map(Name::as_str);
        return Err(format!("there is no listener {}{}", to.as_str(), suggest_name(to.as_str(), names, "")));
    }
    let open = |listener: &&Listener| listener.entry && to.is_none_or(|to| listener.name == *to);
    let takers: Vec<(&Listener, &ElementSchema)> = (composition.listeners.values().filter(open))
        .flat_map(|listener| listener.accepts.iter().map(move |taken| (listener, taken)))
        .filter(|(_, taken)| is_meant(&taken.name, element))
        .collect();
    match takers.as_slice() {
        [(_, taken)] => Ok((taken.name.clone(), taken.schema)),
        [] => Err(describe_untaken(composition, element, to)),
        [(first, taken), others @ ..] => {
            Err(match others.iter().find(|(other, _)| other.name != first.name) {
                Some((second, _)) => format!(
                    "{element} is taken by {} and by {}; try: --to {}",
                    first.name.as_str(),
                    second.name.as_str(),
                    first.name.as_str()
                ),
                None => format!("{element} exists in several namespaces; try: '{}'", taken.name),
            })
        }
    }
}

/// Whether this is the meant element: by its local name, or by `{namespace}name`.
fn is_meant(name: &QName, element: &str) -> bool {
    *name.local == *element || (element.starts_with('{') && name.to_string() == element)
}

/// Why no listener takes the element.
fn describe_untaken(composition: &Composition, element: &str, to: Option<&Name>) -> String {
    let inside = |listener: &&Listener| listener.accepts.iter().any(|taken| is_meant(&taken.name, element));
    let takes = composition.listeners.values().find(inside);
    if let (Some(listener), None) = (takes.filter(|listener| !listener.entry), to) {
        let name = listener.name.as_str();
        return format!(
            "{element} is taken by {name}, which is not open to messages from outside; try: entry: true at listeners.{name} in the organism's file"
        );
    }
    let of_whom: Vec<&Listener> = match to {
        Some(to) => composition.find_listener(to).into_iter().collect(),
        None => composition.listeners.values().filter(|listener| listener.entry).collect(),
    };
    if let Some(closed) = of_whom.iter().find(|listener| !listener.entry) {
        let name = closed.name.as_str();
        return format!("{name} is not open to messages from outside; try: entry: true at listeners.{name}");
    }
    let mut names: Vec<&str> = of_whom
        .iter()
        .flat_map(|l| l.accepts.iter().filter(|taken| l.shows_outside(taken)))
        .map(|taken| &*taken.name.local)
        .collect();
    names.sort_unstable();
    names.dedup();
    if element.is_empty() && !names.is_empty() {
        return format!("the name of the element is empty; open are {}", names.join(", "));
    }
    let who =
        to.map_or_else(|| "no listener takes".to_owned(), |to| format!("{} does not take", to.as_str()));
    if names.is_empty() {
        return format!(
            "{who} {element}: no listener is open to messages from outside; try: entry: true at a listener in the organism's file"
        );
    }
    let listed = format!("; open are {}", names.join(", "));
    format!("{who} {element}{}", suggest_name(element, names.into_iter(), &listed))
}

/// The name that was probably meant, or else a list of the names.
fn suggest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    match find_nearest(name, known) {
        Some(near) => format!("; try: {near}"),
        None => otherwise.to_owned(),
    }
}
