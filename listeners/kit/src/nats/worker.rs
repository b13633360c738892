//! A worker of one listener: where it works, and how it presents itself.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::news::{WorkerEvent, WorkerFault};
use crate::limits::{self, SHOWN_BYTES};
use crate::name::QName;
use crate::schema::SchemaModel;

/// A worker of one listener: where it works, and how it presents itself.
pub struct Worker {
    pub(crate) url: String,
    pub(crate) organism: String,
    pub(crate) listener: String,
    pub(crate) key_file: Option<PathBuf>,
    pub(super) slots: usize,
    pub(super) renew: Duration,
    pub(super) shown: ServiceDescription,
    pub(super) tell: Arc<dyn Fn(&WorkerEvent) + Send + Sync>,
    /// The first error in the settings above.
    pub(super) wrong: Option<WorkerFault>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Worker")
            .field("organism", &self.organism)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

/// A name as one token of a subject.
pub(crate) fn as_token(name: &str) -> String {
    name.replace('.', "_")
}

pub(super) fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.len() <= 63
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    name.split('.').all(part)
}

/// What a worker shows about itself.
#[derive(Debug, Clone)]
pub(super) struct ServiceDescription {
    pub(super) version: String,
    pub(super) description: String,
    pub(super) accepts: Vec<QName>,
    pub(super) returns: Vec<QName>,
    /// Namespace and hash of each schema.
    pub(super) schemas: Vec<(String, String)>,
    pub(super) started: jiff::Timestamp,
}

impl Default for ServiceDescription {
    fn default() -> Self {
        Self {
            version: "0.0.0".to_owned(),
            description: String::new(),
            accepts: Vec::new(),
            returns: Vec::new(),
            schemas: Vec::new(),
            started: jiff::Timestamp::now(),
        }
    }
}

impl ServiceDescription {
    pub(super) fn add_schema(&mut self, xsd: &[u8]) -> Result<(), String> {
        let model = SchemaModel::from_xsd(xsd).map_err(|unfit| {
            let first = unfit.first().map(|unfit| format!("line {}: {}", unfit.line, unfit.message));
            format!("the schema cannot be read: {}", first.unwrap_or_default())
        })?;
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(xsd) {
            // Writing into a String cannot fail.
            let _written = write!(hash, "{byte:02x}");
        }
        self.schemas.push((model.target_namespace().to_owned(), hash));
        Ok(())
    }

    /// Checks that what is shown is of limited size and readable for clients.
    pub(super) fn check(&self) -> Result<(), WorkerFault> {
        let over = |what: &str, there: usize, most: usize| {
            Err(WorkerFault::Told(format!("{what}: {there} are more than {most}, the most that are shown")))
        };
        let elements = self.accepts.len() + self.returns.len();
        let mut texts = vec![&*self.description];
        texts.extend(self.schemas.iter().map(|(namespace, _)| &**namespace));
        texts.extend(self.accepts.iter().chain(&self.returns).flat_map(|name| [&*name.ns, &*name.local]));
        let longest = texts.into_iter().map(str::len).max().unwrap_or_default();
        let numbers: Vec<&str> = self.version.split('.').collect();
        if self.schemas.len() > limits::SHOWN_SCHEMAS {
            over("schema", self.schemas.len(), limits::SHOWN_SCHEMAS)
        } else if elements > limits::SHOWN_ELEMENTS {
            over("accepts and returns", elements, limits::SHOWN_ELEMENTS)
        } else if longest > SHOWN_BYTES {
            Err(WorkerFault::Told(format!(
                "what is shown of a worker: a text has {longest} bytes, more than {SHOWN_BYTES}"
            )))
        } else if numbers.len() != 3 || numbers.iter().any(|number| number.parse::<u32>().is_err()) {
            Err(WorkerFault::Told(format!("version: {:?} is not three numbers, as 1.4.0", self.version)))
        } else {
            Ok(())
        }
    }

    pub(super) fn describe_endpoint(&self) -> Map<String, Value> {
        let names = |all: &[QName]| all.iter().map(QName::to_string).collect::<Vec<_>>().join(" ");
        let mut metadata = Map::new();
        metadata.insert("accepts".to_owned(), names(&self.accepts).into());
        metadata.insert("returns".to_owned(), names(&self.returns).into());
        for (number, (namespace, hash)) in self.schemas.iter().enumerate() {
            let shown = format!("{namespace} sha256:{hash}");
            metadata.insert(format!("schema.{}", (number + 1)), shown.into());
        }
        metadata
    }
}
