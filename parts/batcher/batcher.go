// Package batcher turns calls that wait at the same moment into one call: Do waits until a batch that its key
// is in has been fetched. There is no timer; while all fetches are under way, what comes meanwhile gathers.
//
// A call joins only a batch that has not been sent yet. So what it gets was read after the call began: it is as
// fresh as if the call had been made alone. (Joining a fetch under way, as singleflight does, is not: that may
// have read before what the caller already knows of.)
//
// It is not a cache: nothing is kept beyond a batch.
package batcher
