//! The capabilities of a new user namespace: the outer process hands them on, and the inner one drops them for good, for
//! itself and for all that it starts.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

use super::explain_failure;

/// Hands all of them on to the next program that this process starts. The superuser's would survive by themselves.
pub(super) fn pass_on() -> Result<(), String> {
    let hand_on = || {
        let own = capabilities(None)?;
        set_capabilities(None, CapabilitySets { inheritable: own.permitted, ..own })?;
        let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
        all.filter(|one| own.permitted.contains(*one))
            .try_for_each(|one| configure_capability_in_ambient_set(one, true))
    };
    hand_on().map_err(|error| explain_failure("hand the capabilities on", error))
}

/// Drops all of them. A process that never had the right to change its bounding set has none to lose: it may not
/// gain privileges by a program either, which Landlock's crate forbids.
pub(super) fn drop_all() -> Result<(), String> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(one) {
            Ok(true) => {}
            Ok(false) => continue,
            // No kernel skips a number.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(explain_failure("read the capabilities", error)),
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(explain_failure("drop a capability", error)),
        }
    }
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(explain_failure("drop the ambient capabilities", error)),
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|error| explain_failure("drop the capabilities", error))
}
