//! The schemas of an organism that its agents share. Each schema is read once for all agents.
//!
//! Schema texts go in; models come out. It judges no payload.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use systole_kit::schema::SchemaModel;

/// A schema.
#[derive(Clone, Debug)]
pub struct NamedSchema {
    /// Its name, for people.
    pub name: String,
    /// The XSD.
    pub text: Arc<[u8]>,
}

/// The model of a schema, or the fault.
type ReadModel = Result<Arc<SchemaModel>, String>;

/// Schemas in a fixed order. A copy shares the models already read.
#[derive(Clone, Debug)]
pub struct NamedSchemas {
    texts: Arc<[NamedSchema]>,
    models: Arc<[OnceLock<ReadModel>]>,
}

impl NamedSchemas {
    /// The model of a schema by its number. Imports are resolved among all schemas.
    pub(crate) fn find_model(&self, at: usize) -> Option<ReadModel> {
        let (schema, model) = (self.texts.get(at)?, self.models.get(at)?);
        Some(model.get_or_init(|| self.read_schema(schema)).clone())
    }

    fn read_schema(&self, schema: &NamedSchema) -> ReadModel {
        let others: Vec<(&str, &[u8])> = self.texts.iter().map(|s| (s.name.as_str(), &*s.text)).collect();
        let first = |unfit: Vec<systole_kit::schema::ProfileViolation>| {
            unfit.into_iter().next().map_or_else(String::new, |first| first.message)
        };
        SchemaModel::read_among(&schema.text, &others).map(Arc::new).map_err(first)
    }
}

impl From<Vec<NamedSchema>> for NamedSchemas {
    fn from(texts: Vec<NamedSchema>) -> Self {
        let models = texts.iter().map(|_| OnceLock::new()).collect();
        Self { texts: texts.into(), models }
    }
}

impl FromIterator<NamedSchema> for NamedSchemas {
    fn from_iter<I: IntoIterator<Item = NamedSchema>>(texts: I) -> Self {
        texts.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for NamedSchemas {
    type Target = [NamedSchema];

    fn deref(&self) -> &[NamedSchema] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, NamedSchema, NamedSchemas};

    #[test]
    fn e12_agents_that_share_schemas_read_each_of_them_once() {
        let text = br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://example.org/a/v1" elementFormDefault="qualified"><xs:element name="a" type="xs:string"/></xs:schema>"#;
        let schemas =
            NamedSchemas::from(vec![NamedSchema { name: "a.xsd".to_owned(), text: Arc::from(*text) }]);
        let other = schemas.clone();
        let one = schemas.find_model(0).expect("there is a schema").expect("the schema is right");
        let same = other.find_model(0).expect("there is a schema").expect("the schema is right");
        assert!(Arc::ptr_eq(&one, &same));
        assert!(schemas.find_model(1).is_none());
    }
}
