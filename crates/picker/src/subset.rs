//! The endpoints of a pool that a request may go to, as a gateway names them.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr as _;

use smallvec::SmallVec;

/// Endpoints that may be picked. An empty one allows none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subset {
    allowed: SmallVec<[Allowed; 4]>,
}

/// What one entry allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Endpoint(SocketAddr),
    /// All ports of an address: the ranks of one Pod.
    Address(IpAddr),
}

// === impl Subset ===

impl Subset {
    /// Allows what the entries of `text` name, which commas separate: `ip:port` or only an `ip`, one
    /// of version 6 with or without brackets. An entry that is neither allows nothing.
    pub fn allow(&mut self, text: &str) {
        self.allowed
            .extend(text.split(',').filter_map(|entry| parse(entry.trim())));
    }

    /// Whether a request may go to `address`.
    #[must_use]
    pub fn allows(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        self.allowed.iter().any(|allowed| match allowed {
            Allowed::Endpoint(one) => one.ip() == ip && one.port() == address.port(),
            Allowed::Address(one) => *one == ip,
        })
    }
}

impl FromIterator<SocketAddr> for Subset {
    fn from_iter<T: IntoIterator<Item = SocketAddr>>(addresses: T) -> Self {
        let allowed = addresses.into_iter().map(Allowed::endpoint).collect();
        Self { allowed }
    }
}

// === impl Allowed ===

impl Allowed {
    fn endpoint(address: SocketAddr) -> Self {
        Self::Endpoint(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

fn parse(entry: &str) -> Option<Allowed> {
    if let Ok(address) = SocketAddr::from_str(entry) {
        return Some(Allowed::endpoint(address));
    }
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(entry);
    let ip = IpAddr::from_str(bare).ok()?;
    Some(Allowed::Address(ip.to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_and_without_port() {
        let rows = [
            ("10.0.0.1:8000", "10.0.0.1:8000", true),
            ("10.0.0.1:8000", "10.0.0.1:8001", false),
            ("10.0.0.1", "10.0.0.1:8001", true),
            ("10.0.0.1", "10.0.0.2:8001", false),
            ("fd00::1", "[fd00::1]:8000", true),
            ("[fd00::1]", "[fd00::1]:8000", true),
            ("[fd00::1]:8000", "[fd00::1]:8000", true),
            ("[fd00::1]:8000", "[fd00::1]:8001", false),
            ("[FD00:0::1]:8000", "[fd00::1]:8000", true),
            ("::ffff:10.0.0.1", "10.0.0.1:8000", true),
            ("10.9.9.9:1 , 10.0.0.1:8000", "10.0.0.1:8000", true),
            ("", "10.0.0.1:8000", false),
            ("pod-1:8000", "10.0.0.1:8000", false),
            ("[10.0.0.1:8000", "10.0.0.1:8000", false),
        ];
        for (text, address, allowed) in rows {
            let mut subset = Subset::default();
            subset.allow(text);
            assert_eq!(
                subset.allows(address.parse().unwrap()),
                allowed,
                "{text} {address}"
            );
        }
    }
}
