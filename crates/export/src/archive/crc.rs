//! The checksum of zip files: CRC-32 with the polynomial of IEEE 802.3.

const TABLE: [u32; 256] = build_table();

const fn build_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut rest = table.as_mut_slice();
    let mut byte = 0;
    while let Some((first, after)) = rest.split_first_mut() {
        let (mut value, mut bit) = (byte, 0);
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        *first = value;
        byte += 1;
        rest = after;
    }
    table
}

/// A checksum that grows with its bytes.
#[derive(Clone, Copy)]
pub(super) struct Crc(u32);

impl Crc {
    pub(super) const fn new() -> Crc {
        Crc(u32::MAX)
    }

    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let [low, ..] = self.0.to_le_bytes();
            let entry = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default();
            self.0 = (self.0 >> 8) ^ entry;
        }
    }

    pub(super) const fn sum(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_nine_digits_is_the_one_that_everyone_publishes() {
        let mut crc = Crc::new();
        crc.add_bytes(b"1234");
        crc.add_bytes(b"56789");
        assert_eq!(crc.sum(), 0xcbf4_3926);
    }
}
