//! One element in the namespace of the core: written, and read again.

use std::sync::Arc;

use systole_wire::gate::{GateStep, XmlGate};
use systole_wire::writer::{StartTag, XmlWriter};
use systole_wire::{DocumentLimits, namespaces};

pub(super) type PayloadBytes = Arc<[u8]>;

/// A payload of the core: an element in its namespace.
pub fn write_element(name: &'static str, write: impl FnOnce(StartTag<'_, 'static>)) -> PayloadBytes {
    let mut writer = XmlWriter::with_capacity(512);
    write(writer.open(name).xmlns(namespaces::CORE));
    Arc::from(writer.finish())
}

/// The attributes of a core payload's root. `None` if its name is not `name`.
pub fn read_attributes<const N: usize>(
    body: &[u8],
    name: &str,
    wanted: [&str; N],
) -> Option<[Option<String>; N]> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let Ok(GateStep::Open(tag)) = gate.read_step() else { return None };
    if tag.local != name || gate.find_namespace(&tag) != Some(namespaces::CORE) {
        return None;
    }
    Some(wanted.map(|attribute| gate.find_attribute(attribute).map(|value| value.into_owned())))
}

/// The text inside a core payload without children.
pub fn read_text(body: &[u8]) -> Option<String> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut words = String::new();
    loop {
        match gate.read_step().ok()? {
            GateStep::Text(text) => text.append_to(&mut words),
            GateStep::Done => return Some(words),
            _ => {}
        }
    }
}
