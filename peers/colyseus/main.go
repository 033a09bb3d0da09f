// Command colyseus is what arenad is compared with: a game server of Colyseus 0.18, written as its
// documentation advises (server/server.mjs), and players that load it.
//
//	colyseus install --program dyno-out/colyseus
//	colyseus serve --program dyno-out/colyseus --listen 127.0.0.1:0
//	colyseus bytes --program dyno-out/colyseus -n 50 --motion random
//	colyseus bots --url http://127.0.0.1:2567 -n 500 --motion keyboard
//
// The server moves players as arenad's game does, and does nothing else. It runs in Node.js, in
// production mode, with the default transport. Its packages come from npm, in the versions of
// server/package-lock.json, and so does Node.js itself on Linux of amd64; elsewhere the one in PATH
// is used.
//
// An input is acknowledged in the way of Colyseus 0.18, by eight bytes before each state that a
// client receives. In the room "messages" none is, as in Colyseus before.
//
// It is not for clients of other games. It owns the server's process; lab/load/sessions owns the
// goroutines of the players. All have ended when it ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"dyno/peers/callers"
)

// options of all commands; each uses some of them.
type options struct {
	program, listen   string
	url, room, motion string
	players           int
	rate              float64
	length            time.Duration
	json              bool
}

const advice = "say what to do first: install, serve, bytes or bots"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "colyseus: "+advice)
		os.Exit(2)
	}
	var o options
	flags := flag.NewFlagSet("colyseus", flag.ExitOnError)
	flags.StringVar(&o.program, "program", "dyno-out/colyseus", "`folder` with the packages of Colyseus, which install makes")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the server")
	flags.StringVar(&o.url, "url", "", "`URL` of a server that runs already; without it, bytes starts one")
	flags.StringVar(&o.room, "room", "inputs", "inputs, which are acknowledged, or messages, as before Colyseus 0.18")
	flags.StringVar(&o.motion, "motion", "keyboard", "keyboard: other keys about every 0.5 s; random: in each packet")
	flags.IntVar(&o.players, "n", 50, "players; 50 fill a room")
	flags.Float64Var(&o.rate, "rate", 30, "packets of a player in a second")
	flags.DurationVar(&o.length, "length", 10*time.Second, "time that is measured")
	flags.BoolVar(&o.json, "json", false, "print the result of bots as JSON, and no windows")
	flags.Parse(os.Args[2:])
	callers.Main("colyseus", func(ctx context.Context) error { return o.run(ctx, os.Args[1], os.Stdout) })
}

func (o options) run(ctx context.Context, command string, out io.Writer) error {
	switch command {
	case "install":
		return install(ctx, o.program)
	case "serve":
		return o.serve(ctx, out)
	case "bytes":
		return o.bytes(ctx, out)
	case "bots":
		return o.bots(ctx, out)
	}
	return errors.New(advice)
}

// serve runs the server until ctx ends.
func (o options) serve(ctx context.Context, out io.Writer) error {
	s, err := start(ctx, o.program, o.listen)
	if err != nil {
		return err
	}
	defer s.stop()
	err = json.NewEncoder(out).Encode(map[string]any{"ready": true, "service": "colyseus", "listen": s.address, "pid": os.Getpid()})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.process.Exited():
		return fmt.Errorf("the server ended: %w", s.process.Err())
	}
}
