//! Takes every capability from this process and from all that it starts.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::cannot;

/// More than any kernel has.
const NUMBERS: u32 = 64;

/// Drops all of them. A process that never had the right to change its bounding set has none to lose: it may not
/// gain privileges by a program either, which Landlock's crate forbids.
pub(super) fn drop_all() -> Result<(), String> {
    for number in 0..NUMBERS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(one) {
            Ok(true) => {}
            Ok(false) => continue,
            // No kernel skips a number.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(cannot("read the capabilities", error)),
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(cannot("drop a capability", error)),
        }
    }
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(cannot("drop the ambient capabilities", error)),
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|error| cannot("drop the capabilities", error))
}
