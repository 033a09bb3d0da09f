// Package primitives measures and tests what sources claim of Go's own means: runtime.Gosched, GOGC, the room of a channel, TLS, and
// tables that many goroutines read. go test -run '^$' -bench . ./bench/claims/primitives prints it. It is not for use by programs.
package primitives
