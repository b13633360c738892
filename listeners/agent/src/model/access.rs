//! The parts of a request that come from the environment: the key, the values of extra headers, the proxy. It does
//! not read the environment itself, and nothing of it can be shown.

use hyper::header::{HeaderName, HeaderValue};

use super::key::{KeyFault, ModelKey};
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

impl ModelKey {
    /// The key of a model, which `read` finds under the name of its variable. `None` if no variable is named. Line
    /// breaks and blanks at its ends are removed: they come from the file it was read from.
    ///
    /// # Errors
    /// If the variable is missing or holds something that cannot be a key.
    pub fn from_lookup(
        model: &spec::ModelSpec,
        read: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Option<Self>, KeyFault> {
        let Some(variable) = &model.key_env else { return Ok(None) };
        let (model, variable) = (model.name.clone(), variable.clone());
        match read(&variable).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
            None => Err(KeyFault::Missing { model, variable }),
            Some(key) if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(Self(key))),
            Some(_) => Err(KeyFault::Unsendable { model, variable }),
        }
    }
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
