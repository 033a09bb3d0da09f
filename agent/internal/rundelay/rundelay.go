// Package rundelay sums the time that the threads of this process were ready to run and waited for
// a CPU. Only Linux reports it.
//
// It is not for other processes (lab/probe reads those). It starts no goroutines, and only one may
// use a Sum at a time.
package rundelay
