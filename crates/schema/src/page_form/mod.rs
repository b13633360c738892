//! The form that a page shows for a payload: a tree of fields, made from the schema.
//!
//! The name of a global element and posted values come in; a `PageForm` goes out, with the values in their places.
//! A filled form gives a payload, built by the same builder as command-line fields and JSON, so no value can inject
//! markup. A payload gives the values of its form. This module judges nothing beyond what the builder reports.
//!
//! A posted name is the path of its part, such as `/order/line[2]/sku` or `/order/@mode`. `/.` is an element's own
//! text, `/.any[1]` an element that a wildcard admits, `/.xml` a whole element as XML, `/+` says whether a part
//! without values is sent, `/?…` which alternative is chosen, and `/.[3]` a row of children whose order matters.

mod draw;
mod field;
mod fill;
mod give;
mod input;
mod values;

pub use field::{FormAlternative, FormField, FormInput, FormMistake, PageForm};
pub use values::FormValues;

use field::FieldShape;

impl crate::SchemaModel {
    /// The form of a global element's payloads with these values. `None` if there is no such element.
    pub fn draw_form(&self, element: &str, values: &FormValues) -> Option<PageForm> {
        self.schema.find_global(element).map(|declaration| draw::draw_form(&self.schema, declaration, values))
    }

    /// The values with which the form of a payload's element gives the same payload.
    ///
    /// # Errors
    /// If the payload does not follow the schema, chooses a type with `xsi:type`, or is too large for a form.
    pub fn form_values(&self, payload: &[u8]) -> Result<FormValues, FormMistake> {
        fill::fill_values(&self.schema, payload)
    }

    /// Builds a payload of a global element from posted values. `None` if there is no such element.
    ///
    /// # Errors
    /// Every error, each with the posted name of its field.
    pub fn from_form(&self, element: &str, values: &FormValues) -> Option<Result<Vec<u8>, Vec<FormMistake>>> {
        let declaration = self.schema.find_global(element)?;
        Some(give::give_payload(
            &self.schema,
            declaration,
            &draw::draw_form(&self.schema, declaration, values),
        ))
    }

    /// The posted name of the field at a path of the payload that these values make, such as `/order/line[2]/sku`, or
    /// of the nearest part around it.
    pub fn form_place(&self, element: &str, values: &FormValues, path: &str) -> Option<String> {
        let declaration = self.schema.find_global(element)?;
        give::find_place(&draw::draw_form(&self.schema, declaration, values), path)
    }
}

#[cfg(test)]
mod tests;
