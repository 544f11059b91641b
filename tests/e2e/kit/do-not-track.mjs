// Imported first by every script here: the kit reports its use to its vendor unless told not to.
process.env.DO_NOT_TRACK = '1';
