//! A follower that is to run: what its file says, and how it reaches its receiver.

use std::sync::Arc;

use systole_core::types::ids::Name;
use systole_http::ProxySettings;

use crate::carrier::EventCarrier;
use crate::otlp::OtlpSender;
use crate::posting::EventPoster;
use crate::settings::{EventSettings, FollowerSettings, SentForm, WebhookSecret};
use crate::webhook::WebhookSender;

/// A follower that is to run.
pub struct FollowerPlan {
    /// What its file says.
    pub settings: FollowerSettings,
    /// How it reaches its receiver.
    pub carrier: FollowerCarrier,
}

/// How a follower reaches its receiver.
pub enum FollowerCarrier {
    /// With what is sent about records.
    Events(Arc<dyn EventCarrier>),
    /// With metrics.
    Metrics(Arc<OtlpSender>),
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
    /// The plan of a follower. The secret of a webhook is in the environment.
    pub fn build(
        settings: FollowerSettings,
        read_variable: &dyn Fn(&str) -> Option<String>,
        proxies: &ProxySettings,
    ) -> Result<FollowerPlan, FollowerFault> {
        let name = &settings.name;
        let make_poster = |key: &str| {
            let poster = EventPoster::new(settings.to.clone(), proxies);
            poster.map_err(|why| FollowerFault {
                words: format!("follow.{name}.{key}: {why}"),
                fix: "the proxy variables of the environment, such as HTTPS_PROXY".to_owned(),
            })
        };
        let carrier = match &settings.sends {
            SentForm::Events(EventSettings { secret_env, .. }) => {
                let read = |variable: &String| read_secret(name, variable, read_variable);
                let secret = secret_env.as_ref().map(read).transpose()?;
                FollowerCarrier::Events(Arc::new(WebhookSender::new(make_poster("webhook")?, secret)))
            }
            SentForm::Traces => FollowerCarrier::Events(Arc::new(OtlpSender::new(make_poster("otlp")?))),
            SentForm::Metrics => FollowerCarrier::Metrics(Arc::new(OtlpSender::new(make_poster("otlp")?))),
        };
        Ok(FollowerPlan { settings, carrier })
    }
}

fn read_secret(
    follower: &Name,
    variable: &str,
    read_variable: &dyn Fn(&str) -> Option<String>,
) -> Result<WebhookSecret, FollowerFault> {
    let text = read_variable(variable).filter(|text| !text.is_empty());
    let parsed = text.ok_or("it is not set in the environment").and_then(|text| WebhookSecret::parse(&text));
    parsed.map_err(|why| FollowerFault {
        words: format!("follow.{follower}.secret_env: {variable}: {why}"),
        fix: format!("export {variable}=whsec_…, the secret that its receiver shows"),
    })
}
