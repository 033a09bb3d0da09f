// Command echo is what an arenad without a game would be: a bare echo of WebSocket messages with
// gws, one with gorilla/websocket as its examples write it, and one with arenad's own frames. It
// also compares what a message costs them, and any other server that answers each message at /ws
// with one, as a Ping with a Pong.
//
//	echo serve --library gws --listen 127.0.0.1:0
//	echo compare --connections 100
//	echo compare --rate 30 --messages 30 --also 'FILE ARGUMENTS'
//
// A comparison starts each server as a process of its own. In turns, each connection sends a small
// binary message to one of them and waits for the answer, back to back or at a rate; CPU time is
// that of the server's process alone, by its clock. It prints a line of JSON for each server; a
// ratio is to gws.
//
// It is not for latency, and measures on Linux only. It owns a goroutine for each connection, and
// the servers; all have ended when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"dyno/bench/peers/callers"
)

// options of both commands; each uses some of them.
type options struct {
	library, listen               string
	also                          []string // commands
	rate                          float64
	connections, messages, blocks int
}

const advice = "say what to do first: serve or compare"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "echo: "+advice)
		os.Exit(2)
	}
	var o options
	flags := flag.NewFlagSet("echo", flag.ExitOnError)
	flags.StringVar(&o.library, "library", "gws", "gws, gorilla or frames")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the server")
	flags.Func("also", "`command` of another server, which prints a ready line; repeatable", func(s string) error {
		o.also = append(o.also, s)
		return nil
	})
	flags.Float64Var(&o.rate, "rate", 0, "messages of a connection in a second; 0: back to back")
	flags.IntVar(&o.connections, "connections", 100, "connections to each server")
	flags.IntVar(&o.messages, "messages", 100, "messages of a connection in each turn")
	flags.IntVar(&o.blocks, "blocks", 20, "turns of each server; one more is not counted")
	flags.Parse(os.Args[2:])
	callers.Main("echo", func(ctx context.Context) error { return o.run(ctx, os.Args[1], os.Stdout) })
}

func (o options) run(ctx context.Context, command string, out io.Writer) error {
	switch command {
	case "serve":
		return serve(ctx, out, o.library, o.listen)
	case "compare":
		return o.compare(ctx, out)
	}
	return errors.New(advice)
}
