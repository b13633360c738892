//! The schemas of one side of a comparison: an XSD, those of an organism's file, or those of a folder.
//!
//! They may come from anywhere: they are compiled in another process first, and only read here if that went well.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use systole_kit::schema::SchemaModel;

use crate::cli::exit::CommandExit;
use crate::cli::screen::Screen;
use crate::cli::{place, system_faults};
use crate::limits::{self, FILE_BYTES};
use systole_config as config;
use systole_judge::SchemaSource;
use systole_judge::trial::{SchemaTrial, TrialOutcome};

/// The schemas of one side.
pub(super) struct SchemaSide {
    pub(super) sources: Vec<SchemaSource>,
    pub(super) models: Vec<SchemaModel>,
}

impl SchemaSide {
    /// Reads the schemas of a file or a folder, and compiles them where nothing can break.
    pub(super) fn read_side(screen: Screen, path: &Path) -> Result<SchemaSide, CommandExit> {
        let sources = read_sources(screen, path)?;
        if let Some(Err(failed)) =
            SchemaTrial::find_beside().and_then(|trial| trial.compile_sources(&sources))
        {
            let name = sources.get(failed.at).map_or("", |source| &source.name);
            let line = failed.line.map_or_else(String::new, |line| format!(":{line}"));
            let why = match &failed.why {
                TrialOutcome::Refused(words) => words.lines().next().unwrap_or_default(),
                TrialOutcome::Processor | TrialOutcome::Wall => "compiling it takes too long",
                TrialOutcome::Memory => "compiling it takes too much memory",
            };
            return Err(screen.refuse(format!("{name}{line}: {why}"), "a schema that compiles"));
        }
        let among: Vec<(&str, &[u8])> =
            sources.iter().map(|source| (source.name.as_str(), source.xsd.as_slice())).collect();
        let mut models = Vec::with_capacity(sources.len());
        for source in &sources {
            models.push(SchemaModel::read_among(&source.xsd, &among).map_err(|violations| {
                let Some(first) = violations.first() else {
                    return screen.refuse(&source.name, "a schema of the profile");
                };
                let file = first.document.as_ref().unwrap_or(&source.name);
                let words =
                    format!("{file}:{}:{}: {}: {}", first.line, first.column, first.construct, first.message);
                screen.refuse(words, &first.fix)
            })?);
        }
        Ok(SchemaSide { sources, models })
    }

    /// The schema of a namespace.
    pub(super) fn find_schema(&self, namespace: &str) -> Option<(&SchemaModel, &SchemaSource)> {
        let both = self.models.iter().zip(&self.sources);
        both.into_iter().find(|(model, _)| model.target_namespace() == namespace)
    }
}

/// The schemas of a path: those of an organism's file, those of a folder, or the one file.
fn read_sources(screen: Screen, path: &Path) -> Result<Vec<SchemaSource>, CommandExit> {
    let is_yaml = |path: &Path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let organism = path.join("organism.yaml");
    if is_yaml(path) || organism.is_file() {
        let file = if is_yaml(path) { path } else { &organism };
        let loaded = config::load_set(file, &[]).map_err(|refused| place::refuse(screen, &refused))?;
        // The core and envelope schemas come first, and are the same in every file of this version.
        let schemas = loaded.composition.schemas.into_iter().skip(2);
        return Ok(schemas
            .map(|schema| SchemaSource { name: schema.name, xsd: schema.text.to_vec() })
            .collect());
    }
    if !path.is_dir() {
        return Ok(vec![read_source(screen, path)?]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| {
        system_faults::report_unread(screen, CommandExit::Usage, path, "a folder of schemas", &error)
    })?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "xsd")).collect();
    files.sort();
    if files.is_empty() || files.len() > limits::SCHEMA_FILES {
        let words = format!("{}: it has {} files *.xsd, and no organism.yaml", path.display(), files.len());
        return Err(screen.refuse(words, "the path of a schema, of an organism's file, or of its folder"));
    }
    files.iter().map(|file| read_source(screen, file)).collect()
}

fn read_source(screen: Screen, path: &Path) -> Result<SchemaSource, CommandExit> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let xsd = read().map_err(|error| {
        system_faults::report_unread(screen, CommandExit::Usage, path, "a schema", &error)
    })?;
    if xsd.len() as u64 > FILE_BYTES {
        let words = format!("{}: it has more than {FILE_BYTES} bytes", path.display());
        return Err(screen.refuse(words, "a schema, or split it over several"));
    }
    Ok(SchemaSource { name: path.display().to_string(), xsd })
}
