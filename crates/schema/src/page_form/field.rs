//! A form and its fields.

/// The form of a global element's payloads, with the values so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageForm {
    /// The local name of the element.
    pub element: String,
    /// Its documentation, or nothing.
    pub about: String,
    /// Its fields, in the order of the schema.
    pub fields: Vec<FormField>,
    /// Why no payload can be made of the values: names that the form does not have, or too many fields.
    pub mistakes: Vec<FormMistake>,
}

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// The name under which its value is posted.
    pub name: String,
    /// What the page calls it: short documentation, or the name in the schema.
    pub label: String,
    /// The name in the schema.
    pub term: String,
    /// Longer documentation, or nothing.
    pub about: String,
    /// Whether a payload needs it.
    pub is_required: bool,
    /// What is allowed, in words.
    pub limits: String,
    /// An example of a value, or the default of a part that is left out.
    pub hint: String,
    /// The value as posted; for a choice the chosen alternative.
    pub value: String,
    /// Whether it is sent without values: `yes`, `no`, or nothing if that follows from its values.
    pub presence: String,
    /// The kind of input.
    pub input: FormInput,
    /// The media types of a file; nothing if the part is none. The fields inside it are those of the reference.
    pub accept: Vec<String>,
    pub(super) shape: FieldShape,
    /// The key of its value in the builder.
    pub(super) key: String,
}

/// How a field is filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormInput {
    /// Text on one line.
    Line,
    /// Text that may have many lines.
    Text,
    /// A whole number, with its bounds if there are some.
    Whole {
        /// The smallest value.
        least: Option<String>,
        /// The largest value.
        most: Option<String>,
    },
    /// A number.
    Decimal,
    /// `true` or `false`.
    YesNo,
    /// One of several values.
    Choice(Vec<String>),
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A day and a time.
    DateTime,
    /// XML, for what no field can express.
    Xml,
    /// Fields that belong together.
    Group(Vec<FormField>),
    /// One of several alternatives.
    OneOf(Vec<FormAlternative>),
    /// A part that may come several times.
    Several {
        /// Its places, each filled or blank.
        places: Vec<FormField>,
        /// Whether there may be more places.
        may_add: bool,
    },
}

/// An alternative of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormAlternative {
    /// The posted value that chooses it.
    pub value: String,
    /// What the page calls it.
    pub label: String,
    /// Its fields.
    pub fields: Vec<FormField>,
}

/// Why posted values make no payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormMistake {
    /// The posted name of the field, or of the part around it; nothing for the form as a whole.
    pub name: String,
    /// What is wrong.
    pub message: String,
    /// What is allowed there.
    pub expected: String,
}

/// The part that a field stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldShape {
    /// An attribute, an element's own text, or XML for a wildcard.
    Value,
    /// A child element.
    Child,
    /// A child element that is a list of items.
    Items,
    /// A whole child element as XML.
    Whole,
    /// A group of the schema without an element.
    Layout,
}

impl FormField {
    /// Whether the field or any field inside it has a value.
    pub fn has_values(&self) -> bool {
        !self.value.is_empty()
            || self.presence == "yes"
            || match &self.input {
                FormInput::Group(fields) => fields.iter().any(Self::has_values),
                FormInput::Several { places, .. } => places.iter().any(Self::has_values),
                FormInput::OneOf(alternatives) => {
                    alternatives.iter().any(|one| one.fields.iter().any(Self::has_values))
                }
                _ => false,
            }
    }

    /// Whether the form asks if the part is sent without values.
    pub fn may_be_kept(&self) -> bool {
        match self.input {
            FormInput::Group(_) => !self.is_required && self.shape != FieldShape::Layout,
            _ => self.presence == "yes" && self.value.is_empty(),
        }
    }
}
