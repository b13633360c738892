//! The files of an SDK beside an organism: its source, and a module of types for each namespace of the organism.
//!
//! Schemas come in, files go out, with the same bytes for the same schemas.

use std::path::PathBuf;

use systole_schema::SchemaModel;
use systole_schema::types::{self, ModulePlaces};
use systole_wire::namespaces::{CORE, ENVELOPE, TALK};

use crate::embedded::{EmbeddedFile, PYTHON, TYPESCRIPT};
use crate::new_file::NewFile;

/// The language of an SDK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SdkLanguage {
    /// Python 3.10 and newer.
    Python,
    /// TypeScript, which Node 22.18 and newer runs as it is.
    TypeScript,
}

/// Namespaces whose modules are part of the SDK: `core` and `talk`.
const OWN: [&str; 2] = [CORE, TALK];

impl SdkLanguage {
    /// Its name on the command line, and the folder of its files.
    pub fn name(self) -> &'static str {
        match self {
            SdkLanguage::Python => "python",
            SdkLanguage::TypeScript => "typescript",
        }
    }

    fn end(self) -> &'static str {
        match self {
            SdkLanguage::Python => ".py",
            SdkLanguage::TypeScript => ".ts",
        }
    }

    /// The line by which a file is known as written by this program.
    pub(crate) fn mark(self) -> String {
        let comment = match self {
            SdkLanguage::Python => "#",
            SdkLanguage::TypeScript => "//",
        };
        format!("{comment} Written by `systole sdk {}`: do not edit, write it again.\n", self.name())
    }

    fn sources(self) -> &'static [EmbeddedFile] {
        match self {
            SdkLanguage::Python => PYTHON,
            SdkLanguage::TypeScript => TYPESCRIPT,
        }
    }

    /// How a module of types names another one, or one of the SDK.
    fn name_import(self, module: &str, is_own: bool, types_only: bool) -> String {
        match (self, is_own, types_only) {
            (SdkLanguage::Python, true, _) => format!("systole_sdk.{module}"),
            (SdkLanguage::Python, false, _) => format!("payloads.{module}"),
            (SdkLanguage::TypeScript, true, false) => format!("../systole_sdk/{module}.ts"),
            // Without the source here, it is the package of a registry.
            (SdkLanguage::TypeScript, true, true) => format!("systole-sdk/{module}"),
            (SdkLanguage::TypeScript, false, _) => format!("./{module}.ts"),
        }
    }

    fn write_module(self, models: &[&SchemaModel], places: &ModulePlaces<'_>) -> String {
        match self {
            SdkLanguage::Python => types::write_python(models, places),
            SdkLanguage::TypeScript => types::write_typescript(models, places),
        }
    }
}

/// The files to have in a folder.
#[derive(Clone, Debug)]
pub struct SdkPlan {
    /// The language of all of them.
    pub language: SdkLanguage,
    /// The files, in the order of their paths.
    pub files: Vec<NewFile>,
    /// The folders that hold no other file of this program.
    pub(crate) folders: Vec<PathBuf>,
}

/// The models of one namespace.
struct NamespaceModels {
    namespace: String,
    module: String,
    models: Vec<SchemaModel>,
}

/// The namespaces of schemas, in their order, with the names of their modules.
fn group_schemas(schemas: &[(&str, &[u8])]) -> Vec<NamespaceModels> {
    let mut groups: Vec<NamespaceModels> = Vec::new();
    for (_, xsd) in schemas {
        let Ok(model) = SchemaModel::read_among(xsd, schemas) else { continue };
        let namespace = model.target_namespace().to_owned();
        if namespace == ENVELOPE {
            continue;
        }
        if let Some(group) = groups.iter_mut().find(|group| group.namespace == namespace) {
            group.models.push(model);
            continue;
        }
        let name = types::name_module(&namespace);
        let is_taken = |name: &String| groups.iter().any(|group| group.module == *name);
        let numbered = (2_usize..).map(|n| format!("{name}_{n}"));
        let module = std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name));
        groups.push(NamespaceModels { namespace, module: module.unwrap_or(name), models: vec![model] });
    }
    groups
}

fn is_own(namespace: &str) -> bool {
    OWN.contains(&namespace)
}

/// The files of an SDK for an organism with these schemas, by name and text; only the types of its payloads if so wanted.
pub fn plan_sdk(language: SdkLanguage, schemas: &[(&str, &[u8])], types_only: bool) -> SdkPlan {
    let groups = group_schemas(schemas);
    let name_import = |group: &NamespaceModels| {
        let name = language.name_import(&group.module, is_own(&group.namespace), types_only);
        (group.namespace.clone(), name)
    };
    let modules: Vec<(String, String)> = groups.iter().map(name_import).collect();
    let runtime = language.name_import("payload", true, types_only);
    let places = ModulePlaces { runtime: &runtime, modules: &modules };
    let top = PathBuf::from(language.name());
    let payloads = top.join("payloads");
    let mut files = Vec::new();
    for group in groups.iter().filter(|group| !is_own(&group.namespace)) {
        let models: Vec<&SchemaModel> = group.models.iter().collect();
        let path = payloads.join(format!("{}{}", group.module, language.end()));
        files.push(NewFile::new(path, language.write_module(&models, &places)));
    }
    let mut folders = vec![payloads.clone()];
    match language {
        SdkLanguage::Python => {
            let text =
                language.mark() + "\"\"\"The payloads of the organism, a module for each namespace.\"\"\"\n";
            files.push(NewFile::new(payloads.join("__init__.py"), text));
        }
        // Node reads files of TypeScript as modules if the nearest package says so.
        SdkLanguage::TypeScript => {
            let text = "{ \"//\": \"Written by `systole sdk typescript`: do not edit, write it again.\",\n  \"type\": \"module\" }\n";
            files.push(NewFile::new(top.join("package.json"), text.to_owned()));
        }
    }
    if !types_only {
        let package = top.join("systole_sdk");
        let source = |(name, text): &EmbeddedFile| mark_source(language, package.join(name), text);
        files.extend(language.sources().iter().map(source));
        folders.push(package.clone());
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    SdkPlan { language, files, folders }
}

/// A source of the SDK with the line by which it is known.
fn mark_source(language: SdkLanguage, path: PathBuf, text: &str) -> NewFile {
    let mark = language.mark();
    let text = if text.starts_with(&mark) { text.to_owned() } else { mark + text };
    NewFile::new(path, text)
}

/// The module of an element, as an import below `payloads` names it, and the names of the classes of some elements in it.
pub fn find_classes(
    schemas: &[(&str, &[u8])],
    namespace: &str,
    elements: &[&str],
) -> Option<(String, Vec<String>)> {
    let groups = group_schemas(schemas);
    let group = groups.iter().find(|group| group.namespace == namespace)?;
    let models: Vec<&SchemaModel> = group.models.iter().collect();
    let classes = elements.iter().map(|element| types::find_class(&models, element));
    Some((group.module.clone(), classes.collect::<Option<Vec<String>>>()?))
}
