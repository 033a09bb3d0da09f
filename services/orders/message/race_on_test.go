//go:build race

package message

// poolsKeep reports whether pools keep their values; the race detector empties them at random.
const poolsKeep = false
