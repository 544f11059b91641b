// Fails unless node_modules holds what package-lock.json names: same versions, same integrity, nothing missing that
// is not optional, nothing besides.
import { readFileSync } from 'node:fs';

const read = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
const locked = read('package-lock.json');
const installed = read('node_modules/.package-lock.json');
const problems = [];

for (const [path, { version, integrity }] of Object.entries(installed)) {
  const wanted = locked[path];
  if (wanted === undefined) {
    problems.push(`${path} ${version} is not in package-lock.json`);
  } else if (wanted.version !== version || wanted.integrity !== integrity) {
    problems.push(`${path} ${version} is installed, ${wanted.version} is locked`);
  }
}
for (const [path, { optional }] of Object.entries(locked)) {
  if (path !== '' && !optional && installed[path] === undefined) {
    problems.push(`${path} is locked but not installed`);
  }
}
for (const problem of problems) console.error(`error: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;
