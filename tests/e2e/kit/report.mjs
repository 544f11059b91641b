// How a script of this folder answers the Rust test that started it: one JSON line on stdout and
// status 0, or a sentence on stderr and status 1 (a check failed), 2 (wrong use) or 3 (it could not run).

/** A check did not hold. */
class CheckFailed extends Error {}

/** The script was started wrongly. */
class WrongUse extends Error {}

/** Fails the script with `message` unless `condition` holds. */
export function check(condition, message) {
  if (!condition) throw new CheckFailed(message);
}

/** The environment variable `name`; `fallback` where the script can do without it. */
export function variable(name, fallback) {
  const value = process.env[name] || fallback;
  if (value === undefined) throw new WrongUse(`${name} is not set`);
  return value;
}

/** The only argument of the script, one of `allowed`. */
export function argument(allowed) {
  const [value, ...rest] = process.argv.slice(2);
  if (!allowed.includes(value) || rest.length > 0) {
    throw new WrongUse(`expected one argument out of ${allowed.join(', ')}`);
  }
  return value;
}

/** Runs `main` and prints what it found. */
export async function report(main) {
  try {
    const found = await main();
    const text = JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? value.toString() : value));
    process.stdout.write(`${text}\n`);
  } catch (error) {
    const status = error instanceof CheckFailed ? 1 : error instanceof WrongUse ? 2 : 3;
    process.stderr.write(`${status === 3 ? (error.stack ?? error) : error.message}\n`);
    process.exitCode = status;
  }
}
