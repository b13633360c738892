//! The schedules of a plan for the pump: what each sends is judged once, before anything starts.

use std::sync::Arc;

use super::compiled_schemas::CompiledSchemas;
use crate::plan::StartFault;
use systole_config::ScheduleSettings;
use systole_core::rules::admit;
use systole_core::types::composition::Composition;
use systole_core::types::schedule::Schedule;

/// The schedules with their judged payloads.
pub(super) fn judge_schedules(
    composition: &Arc<Composition>,
    schedules: Vec<ScheduleSettings>,
) -> Result<Vec<Schedule>, StartFault> {
    if schedules.is_empty() {
        return Ok(Vec::new());
    }
    let compiled = CompiledSchemas::set_up(std::iter::once(composition));
    let mut judge = compiled.map_err(|fault| StartFault::Machine(fault.to_string()))?;
    let judged = schedules.into_iter().map(|one| {
        let ScheduleSettings { name, rule, to, document, catches_up } = one;
        match admit::admit_amendment(composition, &to, &document, &mut judge) {
            Ok(payload) => {
                Ok(Schedule { name, rule: rule.to_string(), ticks: Arc::new(rule), catches_up, payload })
            }
            Err(refused) => Err(StartFault::Schedule { name, words: refused.refusal.message.into_owned() }),
        }
    });
    judged.collect()
}
