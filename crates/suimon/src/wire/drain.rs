//! From a signal to the end.
//!
//! Proxies learn by their health checks that this process is about to go, and until then they send
//! requests here. So new ones are taken while health says NOT_SERVING; then those that are open end.

use std::time::Duration;

use suimon_extproc::Server;
use tokio::time::Instant;

/// How often it is looked whether requests come.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Longest silence after which no more requests are expected.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// Waits until no more requests are expected: no proxy is connected, or none has sent a request for a
/// while. At most `limit`. `ended` counts requests that have ended.
pub(super) async fn settled(server: &Server, ended: impl Fn() -> u64, limit: Duration) {
    let silence = (limit / 6).min(LONGEST_SILENCE);
    let start = Instant::now();
    let (mut seen, mut since) = (ended(), start);
    while start.elapsed() < limit && server.connections() > 0 {
        let now = ended();
        if server.requests() > 0 || now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() >= silence {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
