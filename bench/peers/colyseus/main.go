// Command colyseus is what arenad is compared with: a game server of Colyseus 0.18, written as its
// documentation advises (server/server.mjs), and players that load either server.
//
//	colyseus install --program dyno-out/colyseus
//	colyseus serve --program dyno-out/colyseus --listen 127.0.0.1:0
//	colyseus bots --service colyseus --url http://127.0.0.1:2567 -n 500
//	colyseus bytes --program dyno-out/colyseus -n 50 --motion random --arenad FILE
//
// The server moves players as arenad's game does, and does nothing else. It runs in Node.js, in
// production mode, with the default transport. Its packages come from npm, in the versions of
// server/package-lock.json, and so does Node.js itself on Linux of amd64; elsewhere the one in PATH
// is used.
//
// An input is acknowledged in the way of Colyseus 0.18, by eight bytes before each state that a
// client receives. In the room "messages" none is, as in Colyseus before.
//
// Bots prints a result (dyno.load/1) or windows; bytes starts the servers, and prints what one
// player receives of each.
//
// It is not for clients of other games. It owns the servers' processes; lab/load/sessions owns the
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

	"dyno/bench/bots/player"
	"dyno/bench/peers/callers"
	"dyno/services/arena/wire"
)

// options of all commands; each uses some of them.
type options struct {
	program, listen, arenad   string
	service, url              string
	room, subprotocol, motion string
	players                   int
	rate                      float64
	warmup, duration          time.Duration
	windows                   bool
}

const advice = "say what to do first: install, serve, bots or bytes"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "colyseus: "+advice)
		os.Exit(2)
	}
	var o options
	flags := flag.NewFlagSet("colyseus", flag.ExitOnError)
	flags.StringVar(&o.program, "program", "dyno-out/colyseus", "`folder` with the packages of Colyseus, which install makes")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the server")
	flags.StringVar(&o.arenad, "arenad", "", "`file` of arenad, which bytes measures too")
	flags.StringVar(&o.service, "service", colyseus, "what the bots play: colyseus or arenad, as a ready line says")
	flags.StringVar(&o.url, "url", "", "`URL` of the server that the bots play")
	flags.StringVar(&o.room, "room", "inputs", "of Colyseus: inputs, which are acknowledged, or messages, as before Colyseus 0.18")
	flags.StringVar(&o.subprotocol, "subprotocol", wire.Bits, "of arenad: "+wire.Bits+" or "+wire.Proto)
	flags.StringVar(&o.motion, "motion", player.Keyboard, player.Keyboard+": other keys twice a second; "+player.Random+": in each packet")
	flags.IntVar(&o.players, "n", 50, "players; 50 fill a room")
	flags.Float64Var(&o.rate, "rate", 30, "packets of a player in a second")
	flags.DurationVar(&o.warmup, "warmup", 2*time.Second, "load that is not counted, after all have joined")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "how long to measure")
	flags.BoolVar(&o.windows, "windows", false, "bots print windows, for the lab")
	flags.Parse(os.Args[2:])
	callers.Main("colyseus", func(ctx context.Context) error { return o.run(ctx, os.Args[1], os.Stdout) })
}

func (o options) run(ctx context.Context, command string, out io.Writer) error {
	switch command {
	case "install":
		return install(ctx, o.program)
	case "serve":
		return o.serve(ctx, out)
	case "bots":
		return o.bots(ctx, out)
	case "bytes":
		return o.bytes(ctx, out)
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
	err = json.NewEncoder(out).Encode(map[string]any{"ready": true, "service": colyseus, "listen": s.address, "pid": os.Getpid()})
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
