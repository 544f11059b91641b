#!/usr/bin/env node
// Lets forge use npm's solc, which is WebAssembly and has no command line that forge accepts.
// forge asks two things of a compiler: `--version`, and `--standard-json` on stdin. Every source
// comes inside the JSON; nothing else is read from disk, so the answer depends on the question.
//
// forge names a source outside the project folder by its absolute path, or by `../…`, or by both
// at once. A native solc sorts that out on disk; here each source gets one name, relative to
// `--base-path`. So the compiler sees the same names in every clone, wherever that is.
'use strict';

const { readFileSync, writeSync } = require('node:fs');
const path = require('node:path');

/** Writes all of `text` before returning: a pipe may take it in pieces, or ask to wait. */
function answer(text) {
  let rest = Buffer.from(text, 'utf8');
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function compile(solc, input, base) {
  const plain = (name) => path.relative(base, path.resolve(base, name)).split(path.sep).join('/');
  const renamed = (record, to) =>
    Object.fromEntries(Object.entries(record ?? {}).map(([name, value]) => [to(name), value]));

  /** One name as the compiler knows it → the names forge gave it. */
  const given = new Map();
  for (const name of Object.keys(input.sources)) {
    given.set(plain(name), [...(given.get(plain(name)) ?? []), name]);
  }
  const restored = (record) =>
    Object.fromEntries(
      Object.entries(record ?? {}).flatMap(([name, value]) =>
        (given.get(name) ?? [name]).map((alias) => [alias, value]),
      ),
    );

  const { outputSelection } = input.settings;
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        ...input,
        sources: renamed(input.sources, plain),
        settings: {
          ...input.settings,
          outputSelection: renamed(outputSelection, (name) => (name === '*' ? name : plain(name))),
        },
      }),
    ),
  );
  return {
    ...output,
    ...(output.sources && { sources: restored(output.sources) }),
    ...(output.contracts && { contracts: restored(output.contracts) }),
  };
}

function main(args) {
  const solc = require('solc');

  if (args.includes('--version')) {
    // The wasm build calls itself `0.8.x+commit.hash.Emscripten.clang`; forge is known to accept
    // the suffix that native builds have.
    const release = solc.version().replace(/\.Emscripten\.clang$/, '.Linux.g++');
    answer(`solc, the solidity compiler commandline interface\nVersion: ${release}\n`);
    return 0;
  }

  if (args.includes('--standard-json')) {
    const flag = args.indexOf('--base-path');
    const base = flag < 0 ? process.cwd() : args[flag + 1];
    answer(JSON.stringify(compile(solc, JSON.parse(readFileSync(0, 'utf8')), base)));
    return 0;
  }

  process.stderr.write(
    'usage: solc.cjs --version | [--base-path DIR] --standard-json < input.json\n',
  );
  return 2;
}

process.exitCode = main(process.argv.slice(2));
