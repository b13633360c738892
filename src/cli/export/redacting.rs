//! What `systole export --redact` leaves out: sensitive values, and what expressions select.

use super::super::exit::CommandExit;
use super::super::find::xpath_fault;
use super::super::looking::Looking;
use super::ExportEnd;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::Position;
use systole_core::types::record::Record;
use systole_export::redaction::Redaction;
use systole_export::{ExportFault, ExportScope};
use systole_judge::xpath_filter::{XpathFault, XpathFilter};

/// The word for all sensitive values.
const SENSITIVE: &str = "sensitive";
/// The option that names an expression.
const OPTION: &str = "--redact";

/// The scope with what is left out of it.
pub(super) fn redact_scope(
    looking: &Looking,
    mut scope: ExportScope,
    chosen: &[ThreadId],
    rules: &[String],
) -> Result<ExportScope, CommandExit> {
    if rules.is_empty() {
        return Ok(scope);
    }
    let expressions = rules.iter().filter(|rule| *rule != SENSITIVE);
    let filters: Result<Vec<XpathFilter>, XpathFault> =
        expressions.map(|expression| XpathFilter::new(expression)).collect();
    let filters = filters.map_err(|wrong| xpath_fault(looking.screen, OPTION, &wrong, None))?;
    let mut used = vec![false; filters.len()];
    let mut select = |batch: &[(Position, Record)]| -> Result<Vec<bool>, ExportEnd> {
        let bodies: Vec<&[u8]> = batch.iter().map(|(_, record)| &record.body[..]).collect();
        let mut selected = vec![false; bodies.len()];
        for (filter, is_used) in filters.iter().zip(&mut used) {
            let held = filter.filter_payloads(&bodies).map_err(|wrong| {
                let at = match &wrong {
                    XpathFault::Costly(at, _) => batch.get(*at).map(|(position, _)| *position),
                    XpathFault::Wrong(_) | XpathFault::Machine(_) => None,
                };
                ExportEnd::Told(xpath_fault(looking.screen, OPTION, &wrong, at))
            })?;
            *is_used |= held.contains(&true);
            selected.iter_mut().zip(held).for_each(|(one, held)| *one |= held);
        }
        Ok(selected)
    };
    let roots: Vec<ThreadId> = chosen.iter().map(ThreadId::root_of).collect();
    let mut around =
        ExportScope::find_threads(&*looking.reader, &roots).map_err(|damage| looking.fault(&damage))?;
    around.last = scope.last;
    let is_sensitive = rules.iter().any(|rule| rule == SENSITIVE);
    let planned = Redaction::plan_redaction(&*looking.reader, &scope, &around, is_sensitive, &mut select);
    let planned = planned.map_err(|end| match end {
        ExportEnd::Told(exit) => exit,
        ExportEnd::Fault(wrong) => report_fault(looking, &wrong),
    })?;
    let expressions = rules.iter().filter(|rule| *rule != SENSITIVE);
    for (expression, _) in expressions.zip(used).filter(|(_, is_used)| !is_used) {
        looking.screen.say(format!("note: {OPTION} {expression} selects no record"));
    }
    if is_sensitive && !planned.has_sensitive {
        looking.screen.say("note: no record has a value that its schema marks as sensitive");
    }
    scope.redaction = Some(planned);
    Ok(scope)
}

/// Reports why nothing was exported.
pub(super) fn report_fault(looking: &Looking, fault: &ExportFault) -> CommandExit {
    match fault {
        ExportFault::Log(damage) => looking.fault(damage),
        ExportFault::Reason(_) | ExportFault::EraserName(_) => {
            let fix = "an export without this thread; a record of the log's own thread is never redacted";
            looking.screen.fail_with(CommandExit::Failed, fault, fix)
        }
        fault => {
            let exit = looking.screen.fail(CommandExit::Failed, fault);
            looking.screen.say(
                "  a key is hashed with the fields of its record, so an export cannot leave it out\n  \
                 try: an export without this thread",
            );
            exit
        }
    }
}
