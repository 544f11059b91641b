// Preload for `node --require`: every server of the process listens on 127.0.0.1 only.
//
// The alto bundler asks for 0.0.0.0 and has no option for it, so without this a test would offer a
// funded bundler to the whole network. With BARDO_PORT_ZERO=1 the port asked for is replaced by 0:
// the kernel picks one that is free, so two tests can never race for the same number. Each server
// that listens then says so on stderr, `bardo-listening <port>`, which is how a launcher learns the port.
'use strict';

const fs = require('node:fs');
const net = require('node:net');

const LOOPBACK = '127.0.0.1';
const STDERR = 2;
const NOT_TCP = 'loopback: only TCP servers are expected here; refusing to listen on a path or a handle';

const anyPort = process.env.BARDO_PORT_ZERO === '1';
const listen = net.Server.prototype.listen;

/** The port of any of the argument forms of `net.Server.listen`. */
function portOf(first) {
  const port = typeof first === 'object' && first !== null ? first.port : first;
  return port === undefined || port === null || typeof port === 'function' ? 0 : Number(port);
}

/** What of the caller's arguments has nothing to do with the address. */
function listenOptions(first) {
  const options = typeof first === 'object' && first !== null ? first : {};
  if (options.path !== undefined || options.fd !== undefined || options._handle !== undefined) {
    throw new Error(NOT_TCP);
  }
  const { backlog, exclusive, signal } = options;
  return { backlog, exclusive, signal };
}

/** Takes all forms of `listen`: (options), (port), (port, host), (port, host, backlog), each with a callback. */
net.Server.prototype.listen = function listenOnLoopback(...args) {
  const first = args[0];
  if (typeof first === 'string' && !/^\d+$/.test(first)) {
    throw new Error(NOT_TCP);
  }

  const last = args[args.length - 1];
  const callback = typeof last === 'function' ? last : undefined;
  const backlog = args.slice(1).find((argument) => typeof argument === 'number');
  const options = {
    ...listenOptions(first),
    ...(backlog === undefined ? {} : { backlog }),
    host: LOOPBACK,
    port: anyPort ? 0 : portOf(first),
  };

  this.once('listening', () => {
    // A synchronous write to the descriptor: log settings of the program cannot swallow or delay it.
    if (anyPort) fs.writeSync(STDERR, `bardo-listening ${this.address().port}\n`);
  });
  return listen.call(this, options, callback);
};
