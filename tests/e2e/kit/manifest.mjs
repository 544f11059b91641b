// node tests/e2e/kit/manifest.mjs MANIFEST
//
// Names a BardoManifest by code that is not ours: keccak256 of viem over the RFC 8785 form of npm's canonicalize.

import canonicalize from 'canonicalize';
import { keccak256, toHex } from 'viem';

process.stdout.write(JSON.stringify(keccak256(toHex(canonicalize(JSON.parse(process.argv[2]))))));
