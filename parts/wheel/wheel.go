// Package wheel keeps very many timers cheaply: a hierarchical timing wheel, in which to start or stop a
// timer is a constant amount of work and no allocation, at the price of a fixed resolution. A dispatcher
// with a million keys that wait for their next attempt has a million timers; the runtime's own are a heap.
//
// It is not for precision (a timer fires up to one tick late, never early) nor for periodic work.
//
// A Wheel owns one goroutine while Run runs; the functions of timers run in it, one after the other, so
// they must be short. Under testing/synctest it is deterministic: it sleeps until the next timer is due
// and not at all while there is none.
package wheel
