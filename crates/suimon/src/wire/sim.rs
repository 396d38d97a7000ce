//! `suimon sim`: one simulated model server.

use std::net::{Ipv4Addr, SocketAddr};

use crate::admin::{Admin, AdminState};
use crate::cli::SimArgs;
use crate::shutdown;

/// Runs until a signal.
///
/// # Errors
/// The port is taken, or the flags contradict each other.
pub fn run(args: SimArgs) -> anyhow::Result<()> {
    super::gateway::runtime()?.block_on(async {
        let admin = match args.admin_port {
            Some(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                Some(Admin::start(address, AdminState::bare(), "--admin-port").await?)
            }
            None => None,
        };
        let stopped = tokio::select! {
            ended = suimon_sim::serve(args.sim.config) => ended,
            signal = shutdown::requested() => signal.map(drop).map_err(Into::into),
        };
        if let Some(admin) = admin {
            admin.stop().await;
        }
        stopped
    })
}
