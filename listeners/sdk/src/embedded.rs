//! The sources of the SDKs, as they are in this folder. A test compares the lists with the folders.

/// A file of an SDK: its name and its text.
pub(crate) type EmbeddedFile = (&'static str, &'static str);

macro_rules! embed {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name)))),*]
    };
}

/// The package of Python.
pub(crate) const PYTHON: &[EmbeddedFile] = embed![
    "python/systole_sdk":
    "__init__.py",
    "bodies.py",
    "broker.py",
    "client.py",
    "core.py",
    "documents.py",
    "file.py",
    "handlers.py",
    "markup.py",
    "messages.py",
    "once.py",
    "operations.py",
    "payload.py",
    "py.typed",
    "running.py",
    "sending.py",
    "service.py",
    "shown.py",
    "stdio.py",
    "talk.py",
    "testing.py",
    "turn.py",
    "values.py",
    "waiting.py",
];

/// The package of TypeScript.
pub(crate) const TYPESCRIPT: &[EmbeddedFile] = embed![
    "typescript/systole_sdk":
    "bodies.ts",
    "broker.ts",
    "client.ts",
    "core.ts",
    "documents.ts",
    "door.ts",
    "field.ts",
    "file.ts",
    "index.ts",
    "listener.ts",
    "nats.ts",
    "operations.ts",
    "payload.ts",
    "run.ts",
    "service.ts",
    "shown.ts",
    "stdio.ts",
    "table.ts",
    "talk.ts",
    "testing.ts",
    "trial.ts",
    "turn.ts",
    "values.ts",
    "xml.ts",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn g7_every_source_of_an_sdk_is_embedded() {
        for (folder, files) in [("python/systole_sdk", PYTHON), ("typescript/systole_sdk", TYPESCRIPT)] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let there = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
            let there = there.filter(|entry| entry.file_type().unwrap().is_file());
            let mut there: Vec<String> =
                there.map(|entry| entry.file_name().into_string().unwrap()).collect();
            there.sort();
            let mut listed: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
            listed.sort_unstable();
            assert_eq!(listed, there, "{folder}");
        }
    }
}
