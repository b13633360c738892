//! The payloads of a namespace as types of Python and of TypeScript.
//!
//! The models of a namespace come in. A module goes out: a class for each payload and for each element with parts
//! inside one, and a table by which the reader and the writer of an SDK know them. Both languages have the same names
//! and the same table. The types follow the reading of command-line fields and JSON (`form`).

mod beyond;
mod classes;
mod literal;
mod module;
mod names;
mod python;
mod regex;
mod simple;
mod table;
mod typescript;

use classes::ClassTable;
pub use module::ModulePlaces;

use crate::SchemaModel;
use crate::shape::SchemaShape;

/// The name of the module of a namespace: its last part that is no version.
pub fn name_module(namespace: &str) -> String {
    names::name_module(namespace)
}

/// The name of the class of an element, if no other element of its namespace has that name.
pub fn name_class(local: &str) -> String {
    names::name_class(local)
}

/// The module of a namespace in Python. All models are of this namespace.
pub fn write_python(models: &[&SchemaModel], places: &ModulePlaces<'_>) -> String {
    python::write_module(&collect_table(models, places), places)
}

/// The module of a namespace in TypeScript. All models are of this namespace.
pub fn write_typescript(models: &[&SchemaModel], places: &ModulePlaces<'_>) -> String {
    typescript::write_module(&collect_table(models, places), places)
}

/// What the classes of a namespace admit and its schema does not, each as `Search: words`. The pump judges it.
pub fn list_beyond(models: &[&SchemaModel]) -> Vec<String> {
    collect_table(models, &ModulePlaces { runtime: "", modules: &[] }).beyond
}

/// The class of a global element.
pub fn find_class(models: &[&SchemaModel], element: &str) -> Option<String> {
    let table = collect_table(models, &ModulePlaces { runtime: "", modules: &[] });
    table.elements.into_iter().find(|(local, _)| local == element).map(|(_, class)| class)
}

fn collect_table(models: &[&SchemaModel], places: &ModulePlaces<'_>) -> ClassTable {
    let schemas: Vec<&SchemaShape> = models.iter().map(|model| &model.schema).collect();
    classes::collect_classes(&schemas, &|namespace| places.find_module(namespace).is_some())
}
