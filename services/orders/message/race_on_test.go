//go:build race

package message

// poolsKeep is whether a pool keeps what is put into it; the race detector empties it now and then.
const poolsKeep = false
