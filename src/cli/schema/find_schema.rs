//! Finds the schema that a command means: the one that declares an element, or one by its name.
//!
//! Elements of the file come before those of the house, which can also be requested. It uses what is already loaded
//! and prints only why nothing was found.

use std::sync::Arc;

use systole_kit::schema::{SchemaModel, find_nearest};

use crate::cli::exit::CommandExit;
use crate::cli::place::Place;
use crate::cli::screen::Screen;
use systole_config::{CORE_XSD, ENVELOPE_XSD, PAYLOADS, TALK_XSD, WORKFLOW_XSD, list_schemas};
use systole_core::rules::introspection::META_XSD;
use systole_core::types::composition::Schema;

/// The schemas that can be requested.
pub(super) struct FoundSchemas {
    /// Those of the file, and the vocabularies that it uses.
    own: Vec<Schema>,
    /// The other schemas of the house.
    house: Vec<Schema>,
}

/// A declared element.
pub(super) struct DeclaredElement<'s> {
    pub(super) schema: &'s Schema,
    pub(super) model: SchemaModel,
    pub(super) local: String,
}

impl FoundSchemas {
    pub(super) fn read_schemas(place: &Place, screen: Screen) -> Result<FoundSchemas, CommandExit> {
        let schemas = place.organism(screen)?.composition.schemas;
        // The core and envelope schemas come first, and are the same in every file of this version.
        let own: Vec<Schema> = schemas.into_iter().skip(2).collect();
        // A file with an MCP server has the vocabulary of its answers among its own.
        let mut kinds: Vec<_> = list_schemas().filter(|(kind, _)| *kind != "mcp").collect();
        kinds.sort_by_key(|(_, (name, _))| *name);
        let house = [("talk/", TALK_XSD), ("workflow/", WORKFLOW_XSD)].into_iter();
        let house = house.chain(kinds.into_iter().map(|(_, schema)| schema));
        let house =
            house.chain([("core.xsd", CORE_XSD), ("envelope.xsd", ENVELOPE_XSD), ("meta.xsd", META_XSD)]);
        let house = house.filter(|(name, _)| own.iter().all(|schema| schema.name != *name));
        let house = house.map(|(name, text)| Schema { name: name.to_owned(), text: Arc::from(text) });
        Ok(FoundSchemas { house: house.collect(), own })
    }

    /// The schema made from `payloads`.
    pub(super) fn payloads(&self) -> Option<&Schema> {
        self.find_schema(PAYLOADS)
    }

    /// The schema of that name.
    pub(super) fn find_schema(&self, name: &str) -> Option<&Schema> {
        self.own.iter().chain(&self.house).find(|schema| schema.name == name)
    }

    /// The schema of an element, or else of a name without its extension: `talk` is the vocabulary, unless something
    /// with that name is declared.
    pub(super) fn find_meant(&self, screen: Screen, what: &str) -> Result<&Schema, CommandExit> {
        if let Some(schema) = self.find_schema(what) {
            return Ok(schema);
        }
        let is_declared =
            [&self.own, &self.house].iter().any(|schemas| !find_declared(schemas, what).is_empty());
        let by_name = self.own.iter().chain(&self.house).find(|schema| strip_extension(&schema.name) == what);
        match by_name.filter(|_| !is_declared) {
            Some(schema) => Ok(schema),
            None => self.find_declaring(screen, what).map(|found| found.schema),
        }
    }

    /// The names of the schemas of the file.
    pub(super) fn names(&self) -> Vec<&str> {
        self.own.iter().map(|schema| strip_extension(&schema.name)).collect()
    }

    /// The one schema that declares an element, named by its local name or as `{namespace}name`.
    pub(super) fn find_declaring(
        &self,
        screen: Screen,
        element: &str,
    ) -> Result<DeclaredElement<'_>, CommandExit> {
        let mut found = find_declared(&self.own, element);
        if found.is_empty() {
            found = find_declared(&self.house, element);
        }
        if found.len() > 1 {
            let namespaces =
                found.iter().map(|one| format!("  {}  in {}", qualify_name(one), one.schema.name));
            let which: Vec<String> = namespaces.collect();
            let told = format!("several schemas declare {element}; name one of\n{}", which.join("\n"));
            return Err(screen.fail(CommandExit::Usage, told));
        }
        found.pop().ok_or_else(|| self.report_unknown(screen, element))
    }

    /// Reports that no schema declares an element, with the nearest declared one.
    pub(super) fn report_unknown(&self, screen: Screen, element: &str) -> CommandExit {
        let locals = |schemas: &[Schema]| -> Vec<String> {
            list_models(schemas)
                .flat_map(|(_, model)| model.elements().map(str::to_owned).collect::<Vec<_>>())
                .collect()
        };
        let (own, house) = (locals(&self.own), locals(&self.house));
        let names = self.own.iter().chain(&self.house).map(|schema| strip_extension(&schema.name));
        let near = find_nearest(element, own.iter().chain(&house).map(String::as_str).chain(names));
        let fix = match near {
            Some(near) => format!("; did you mean {near}"),
            None if own.is_empty() => format!("; there are {}", house.join(", ")),
            None => format!("; there are {}", own.join(", ")),
        };
        let told = match element {
            "" => "the name of the element is empty".to_owned(),
            _ => format!("no schema declares {element}"),
        };
        screen.fail(CommandExit::Usage, format!("{told}{fix}"))
    }
}

/// The display name: without its extension for a schema of the house, unchanged for a file.
fn strip_extension(name: &str) -> &str {
    match name {
        "core.xsd" | "envelope.xsd" | "meta.xsd" => name.trim_end_matches(".xsd"),
        _ => name.trim_end_matches('/'),
    }
}

/// The models of schemas, each read among all of them because it may import others.
fn list_models(schemas: &[Schema]) -> impl Iterator<Item = (&Schema, SchemaModel)> {
    let among: Vec<(&str, &[u8])> = schemas.iter().map(|one| (one.name.as_str(), &*one.text)).collect();
    schemas
        .iter()
        .filter_map(move |schema| Some((schema, SchemaModel::read_among(&schema.text, &among).ok()?)))
}

fn find_declared<'s>(schemas: &'s [Schema], element: &str) -> Vec<DeclaredElement<'s>> {
    let parts = element.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let (namespace, local) = parts.map_or((None, element), |(namespace, local)| (Some(namespace), local));
    let fits = |model: &SchemaModel| {
        namespace.is_none_or(|namespace| model.target_namespace() == namespace)
            && model.elements().any(|name| name == local)
    };
    let found = list_models(schemas).filter(|(_, model)| fits(model));
    found.map(|(schema, model)| DeclaredElement { schema, model, local: local.to_owned() }).collect()
}

fn qualify_name(one: &DeclaredElement<'_>) -> String {
    format!("{{{}}}{}", one.model.target_namespace(), one.local)
}
