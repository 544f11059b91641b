//! The page in a browser: it fits, and it asks nobody for anything.

use anyhow::{Context as _, Result, ensure};
use std::{fs, process::Command};

/// Looks at it as a phone and as a desk would. Behind the page stands a script that only measures.
pub(crate) fn at_home_on_any_screen(html: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("page.html");
    fs::write(&page, html)?;
    for width in [390, 1280] {
        let frame = folder.path().join("frame.html");
        // A frame is as wide as it is told to be, whatever the least width of a window is.
        let measure = format!(
            "<!doctype html><iframe id=f src=page.html style=\"border:0;width:{width}px;height:900px\"></iframe><pre id=said></pre><script>
             f.onload = () => {{
               const page = f.contentDocument, root = page.documentElement;
               const out = [...page.querySelectorAll('body *')].filter(e => !e.closest('svg') && e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest('thead'));
               const asked = f.contentWindow.performance.getEntriesByType('resource').length;
               said.textContent = 'MEASURED ' + (root.scrollWidth - root.clientWidth) + ' ' + out.length + ' ' + asked + ' ' + out.slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join(' | ');
             }};
             </script>"
        );
        fs::write(&frame, measure)?;
        let output = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
            ])
            .args(["--allow-file-access-from-files", "--virtual-time-budget=4000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg(format!("file://{}", frame.display()))
            .output()
            .context("there is no chromium; run `make setup`")?;
        let seen = String::from_utf8_lossy(&output.stdout);
        let said = seen.split_once("<pre id=\"said\">MEASURED ").map(|(_, said)| said);
        let said = said.with_context(|| format!("nothing was measured: {seen}"))?;
        let numbers: Vec<u64> =
            said.split(' ').take(3).filter_map(|word| word.parse().ok()).collect();
        ensure!(numbers == [0, 0, 0], "at {width}: {}", said.get(..400).unwrap_or(said));
    }
    Ok(())
}
