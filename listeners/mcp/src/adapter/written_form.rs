//! `<input-form>` as it is written: read from a payload, filled with values of a command line, and written.
//!
//! A form that a person amended may lack everything but its fields and their values.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload};

use super::answer::MCP;
use crate::limits;

/// A form.
#[derive(Default)]
pub(super) struct WrittenForm {
    pub(super) tool: String,
    /// Why the last values did not fit.
    pub(super) problem: String,
    pub(super) questions: Vec<WrittenQuestion>,
}

/// A question of a form.
#[derive(Default)]
pub(super) struct WrittenQuestion {
    pub(super) key: String,
    pub(super) message: String,
    pub(super) url: Option<String>,
    pub(super) fields: Vec<WrittenField>,
}

/// A field of a question.
pub(super) struct WrittenField {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) rules: String,
    pub(super) is_required: bool,
    pub(super) values: Vec<String>,
}

impl WrittenForm {
    /// Reads a form. `None` if the payload is none, or has too many values.
    pub(super) fn from_payload(payload: &Payload) -> Option<WrittenForm> {
        if !payload.name().is_named(MCP, "input-form") {
            return None;
        }
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
        let GateStep::Open(_) = gate.read_step().ok()? else { return None };
        let mut form = WrittenForm::default();
        while let Some(tag) = gate.read_child().ok()? {
            match tag.local {
                "tool" => form.tool = gate.text_inside().ok()?,
                "question" => form.questions.push(WrittenQuestion::read_question(&mut gate)?),
                _ => gate.skip_content().ok()?,
            }
        }
        Some(form)
    }

    /// The payload of the form.
    pub(super) fn as_payload(&self) -> Payload {
        Payload::write(MCP, "input-form", |form| {
            form.open("tool").text(&self.tool);
            if !self.problem.is_empty() {
                form.open("problem").text(&self.problem);
            }
            for question in &self.questions {
                form.open("question")
                    .attr("key", &question.key)
                    .content(|inside| question.write_question(inside));
            }
        })
    }

    /// Gives a field the values of the command line: `NAME=VALUE`, or `QUESTION.NAME=VALUE` if several questions have a
    /// field of that name.
    fn fill_field(&mut self, written: &[String]) -> Result<(), String> {
        let mut begun: Vec<&str> = Vec::new();
        for word in written {
            let Some((name, value)) = word.split_once('=') else {
                return Err(format!("{word} is no FIELD=VALUE"));
            };
            let known = self.names();
            let is_meant = |key: &str, field: &str| field == name || name == format!("{key}.{field}");
            let mut found: Vec<&mut WrittenField> = Vec::new();
            for WrittenQuestion { key, fields, .. } in &mut self.questions {
                found.extend(fields.iter_mut().filter(|field| is_meant(key, &field.name)));
            }
            let [field] = found.as_mut_slice() else {
                let wrong =
                    if found.is_empty() { "there is no field" } else { "several questions have a field" };
                return Err(format!("{wrong} {name}; there are {}", known.join(", ")));
            };
            if !begun.contains(&name) {
                begun.push(name);
                field.values.clear();
            }
            field.values.push(value.to_owned());
        }
        Ok(())
    }

    /// The names of its fields, with that of their question if there are several.
    fn names(&self) -> Vec<String> {
        let is_one = self.questions.len() == 1;
        let name = |question: &WrittenQuestion, field: &WrittenField| match is_one {
            true => field.name.clone(),
            false => format!("{}.{}", question.key, field.name),
        };
        let of = |question: &WrittenQuestion| -> Vec<String> {
            question.fields.iter().map(|field| name(question, field)).collect()
        };
        self.questions.iter().flat_map(of).collect()
    }
}

impl WrittenQuestion {
    fn read_question(gate: &mut XmlGate<'_>) -> Option<WrittenQuestion> {
        let key = gate.find_attribute("key")?.into_owned();
        let mut question = WrittenQuestion { key, ..WrittenQuestion::default() };
        while let Some(tag) = gate.read_child().ok()? {
            match tag.local {
                "message" => question.message = gate.text_inside().ok()?,
                "url" => question.url = Some(gate.text_inside().ok()?),
                "field" => question.fields.push(WrittenField::read_field(gate)?),
                _ => gate.skip_content().ok()?,
            }
        }
        Some(question)
    }

    fn write_question(&self, inside: &mut XmlWriter) {
        inside.open("message").text(&self.message);
        if let Some(url) = &self.url {
            inside.open("url").text(url);
        }
        for field in &self.fields {
            let tag = inside.open("field").attr("name", &field.name).attr("type", &field.kind);
            let tag = tag.attr("rules", &field.rules);
            let tag = tag.attr("required", if field.is_required { "true" } else { "false" });
            tag.content(|inside| field.values.iter().for_each(|value| inside.open("value").text(value)));
        }
    }
}

impl WrittenField {
    fn read_field(gate: &mut XmlGate<'_>) -> Option<WrittenField> {
        let get =
            |name: &str| gate.find_attribute(name).map(std::borrow::Cow::into_owned).unwrap_or_default();
        let (name, kind, rules) = (gate.find_attribute("name")?.into_owned(), get("type"), get("rules"));
        let is_required = matches!(get("required").as_str(), "true" | "1");
        let mut field = WrittenField { name, kind, rules, is_required, values: Vec::new() };
        while gate.read_child().ok()?.is_some() {
            field.values.push(gate.text_inside().ok()?);
            if field.values.len() > limits::FIELD_VALUES {
                return None;
            }
        }
        Some(field)
    }
}

/// A form with values of a command line in its fields, each as `NAME=VALUE`. `None` if the payload is no form.
///
/// # Errors
/// If a word names no field.
pub fn fill_form(payload: &[u8], written: &[String]) -> Option<Result<Payload, String>> {
    let payload = Payload::parse(payload, &DocumentLimits::FROM_PUMP).ok()?;
    let mut form = WrittenForm::from_payload(&payload)?;
    Some(form.fill_field(written).map(|()| form.as_payload()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_a_form_is_filled_by_the_names_of_its_fields() {
        let field = |name: &str| {
            let (name, values) = (name.to_owned(), vec!["old".to_owned()]);
            WrittenField { name, kind: "string".into(), rules: "{\"a\":1}".into(), is_required: true, values }
        };
        let question = |key: &str, names: &[&str]| WrittenQuestion {
            key: key.to_owned(),
            message: "Who?".to_owned(),
            url: None,
            fields: names.iter().map(|name| field(name)).collect(),
        };
        let form = WrittenForm {
            tool: "book".to_owned(),
            problem: "no".to_owned(),
            questions: vec![question("a", &["name", "seats"]), question("b", &["name"])],
        };
        let filled = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let filled = fill_form(form.as_payload().bytes(), &words).unwrap()?;
            let read = WrittenForm::from_payload(&filled).unwrap();
            assert!(read.problem.is_empty() && read.tool == "book");
            let all = read.questions.into_iter().flat_map(|question| question.fields);
            Ok::<Vec<String>, String>(all.map(|field| field.values.join("|")).collect())
        };
        assert_eq!(filled(&["seats=2", "b.name=A=l"]).unwrap(), ["old", "2", "A=l"]);
        assert_eq!(filled(&["seats=2", "seats=3"]).unwrap(), ["old", "2|3", "old"]);
        assert_eq!(
            filled(&["name=x"]).unwrap_err(),
            "several questions have a field name; there are a.name, a.seats, b.name"
        );
        assert!(filled(&["nam=x"]).unwrap_err().starts_with("there is no field nam; there are"));
        assert_eq!(filled(&["seats"]).unwrap_err(), "seats is no FIELD=VALUE");
        assert!(fill_form(b"<a xmlns='urn:a'/>", &[]).is_none());
    }
}
