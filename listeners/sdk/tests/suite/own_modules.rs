//! The modules of types that are part of the SDKs are those of the schemas in `schemas/`. `SYSTOLE_GOLDEN=1` writes them.

use std::path::Path;

use systole_schema::SchemaModel;
use systole_schema::types::{ModulePlaces, write_python, write_typescript};

use crate::golden::golden;

#[test]
fn g7_the_modules_of_the_sdks_are_those_of_the_schemas() {
    for name in ["core", "talk"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(format!("{name}.xsd"));
        let model = SchemaModel::from_xsd(&std::fs::read(path).unwrap()).unwrap();
        let python = ModulePlaces { runtime: ".payload", modules: &[] };
        golden(format!("python/systole_sdk/{name}.py"), write_python(&[&model], &python));
        let typescript = ModulePlaces { runtime: "./payload.ts", modules: &[] };
        golden(format!("typescript/systole_sdk/{name}.ts"), write_typescript(&[&model], &typescript));
    }
}
