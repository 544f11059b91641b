use crate::answer::{Answer, Failure};
use golem_chain::local::{Bundler, FAUCET, LocalChain, LocalError, LocalFiles};
use serde_json::json;
use std::io::{Write, stderr, stdout};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::spawn_blocking,
};

/// `bardo up`: says where everything is as soon as it answers, then waits to be interrupted.
pub(crate) async fn up(json: bool) -> Result<Answer, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let files = LocalFiles::find()?;
    let parts = files.clone();
    let starting = spawn_blocking(move || {
        let chain = LocalChain::start(&parts)?;
        let bundler = Bundler::start(&parts, chain.url())?;
        Ok::<_, LocalError>((chain, bundler))
    });
    let (chain, bundler) = tokio::select! {
        started = starting => started??,
        // What was started so far ends with this process; a thread that still waits for it does too.
        _ = interrupt.recv() => std::process::exit(0),
        _ = terminate.recv() => std::process::exit(0),
    };

    let (rpc, ops) = (chain.url().as_str(), bundler.url().as_str());
    let line = if json {
        json!({ "rpc": rpc, "bundler": ops, "chainId": 8453, "faucet": FAUCET, "book": chain.book() })
            .to_string()
    } else {
        format!(
            "chain    {rpc}\nbundler  {ops}\nfaucet   {FAUCET}\naddresses in {}",
            files.book().display()
        )
    };
    writeln!(stdout(), "{line}")?;
    stdout().flush()?;
    writeln!(stderr(), "Ctrl-C ends it")?;

    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    drop(bundler);
    drop(chain);
    writeln!(stderr(), "ended")?;
    Ok(Answer { yes: true, json: json!({ "ended": true }), text: String::new() })
}
