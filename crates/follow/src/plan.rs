//! A follower that is to run: what its file says, and how it reaches its receiver.

use std::sync::Arc;

use systole_http::ProxySettings;

use crate::carrier::EventCarrier;
use crate::settings::{FollowerSettings, WebhookSecret};
use crate::webhook::WebhookSender;

/// A follower that is to run.
pub struct FollowerPlan {
    /// What its file says.
    pub settings: FollowerSettings,
    /// How it reaches its receiver.
    pub carrier: Arc<dyn EventCarrier>,
}

/// Why a follower cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FollowerFault {
    /// What is wrong and where.
    pub words: String,
    /// The fix.
    pub fix: String,
}

impl FollowerPlan {
    /// The plan of a follower with a webhook. Its secret is in the environment.
    pub fn with_webhook(
        settings: FollowerSettings,
        read_variable: &dyn Fn(&str) -> Option<String>,
        proxies: &ProxySettings,
    ) -> Result<FollowerPlan, FollowerFault> {
        let name = &settings.name;
        let read_secret = |variable: &String| {
            let text = read_variable(variable).filter(|text| !text.is_empty());
            let parsed =
                text.ok_or("it is not set in the environment").and_then(|text| WebhookSecret::parse(&text));
            parsed.map_err(|why| FollowerFault {
                words: format!("follow.{name}.secret_env: {variable}: {why}"),
                fix: format!("export {variable}=whsec_…, the secret that its receiver shows"),
            })
        };
        let secret = settings.secret_env.as_ref().map(read_secret).transpose()?;
        let sender = WebhookSender::new(settings.webhook.clone(), secret, proxies);
        let sender = sender.map_err(|why| FollowerFault {
            words: format!("follow.{name}.webhook: {why}"),
            fix: "the proxy variables of the environment, such as HTTPS_PROXY".to_owned(),
        })?;
        Ok(FollowerPlan { settings, carrier: Arc::new(sender) })
    }
}
