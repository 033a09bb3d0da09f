// Package primitives measures what sources claim of Go's own means: runtime.Gosched, the room of a channel, and
// tables that many goroutines read. go test -run '^$' -bench . ./bench/claims/primitives prints it. It is not for use by programs.
package primitives
