//! The parts of a request that come from the environment: the key, the values of extra headers, the proxy. It does
//! not read the environment itself, and nothing of it can be shown.

use hyper::header::{HeaderName, HeaderValue};

use super::key::ModelKey;
use crate::spec;
use systole_http::ProxySettings;

/// A model's values from the environment.
#[derive(Clone, Default)]
pub struct ModelAccess {
    pub(super) key: Option<ModelKey>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) proxies: ProxySettings,
    /// Secrets that no message may show.
    pub(super) secrets: Vec<ModelKey>,
}

impl ModelAccess {
    /// The values that `read` finds for a model under the names of its variables and of the proxy variables.
    ///
    /// # Errors
    /// If a variable that the file names is missing or holds a value that cannot be sent.
    pub fn from_lookup(
        model: &spec::ModelSpec,
        read: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, AdapterFault> {
        let key =
            ModelKey::from_lookup(model, &read).map_err(|fault| AdapterFault::new(fault.to_string()))?;
        let mut access = Self { proxies: ProxySettings::from_environment(&read), ..Self::from(key) };
        for (name, variable) in &model.headers_env {
            let place = format!("models.{}.headers_env.{name}", model.name);
            let wrong =
                |why: &str| AdapterFault::new(format!("the variable {variable}, which {place} names, {why}"));
            let value = read(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
            let value = value
                .ok_or_else(|| wrong("is not set: set it to the value of the header, or name another"))?;
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| AdapterFault::new(format!("{place} is not the name of a header")))?;
            let mut sent = HeaderValue::from_str(&value)
                .map_err(|_| wrong("holds a character that no header has: headers are printable ASCII"))?;
            sent.set_sensitive(true);
            access.headers.push((name, sent));
            access.secrets.extend(ModelKey::from_secret(value));
        }
        Ok(access)
    }
}

/// A key alone, without extra headers and without a proxy.
impl From<Option<ModelKey>> for ModelAccess {
    fn from(key: Option<ModelKey>) -> Self {
        Self { secrets: key.iter().cloned().collect(), key, ..Self::default() }
    }
}

/// Why a model cannot be asked at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AdapterFault(String);

impl AdapterFault {
    /// With this message.
    pub(super) fn new(words: String) -> Self {
        Self(words)
    }
}
