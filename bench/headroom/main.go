// Command headroom holds forecasts of a service's headroom, made from inside the process at a share
// of its load, against what the service then carries: the servers of subjects/bounds and
// bench/libraries, whose bounds are known. It says whether such a forecast may be offered to users.
//
// It is not for users' services.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dyno/bench/calibrate/suite"
	"dyno/bench/command"
	"dyno/bench/stored"
)

const usage = `Headroom finds the peak of each server, sends it 30 and 50% of that, evenly (Poisson) and in bursts, looks inside as dyno
could without a load of its own (profiles and a short execution trace), and prints the forecast beside the truth. It
runs in this repository's root and takes a minute and a half per server.

Usage: go run ./bench/headroom [SERVER|FAMILY]... [flags]

  go run ./bench/headroom                      all servers in Go
  go run ./bench/headroom lock --shares 0.5    one family

`

func main() { command.Main("headroom", run) }

func run(ctx context.Context, args []string, stdout io.Writer) error {
	f := command.Flags("headroom", usage, stdout)
	shares := f.Float64Slice("shares", []float64{0.3, 0.5}, "shares of the peak at which to look")
	store := f.String("json", "", "file that keeps the result of each server; those of servers that are not run again stay")
	out := f.String("out", filepath.Join("dyno-out", "headroom-"+time.Now().Format("20060102-150405")), "folder for the records")
	if err := command.Parse(f, args); err != nil {
		return err
	}
	servers, remove, err := suite.Servers(ctx, f.Args(), func(text string) { fmt.Fprintln(os.Stderr, text) })
	if err != nil {
		return err
	}
	defer remove()
	servers = slices.DeleteFunc(servers, func(s suite.Server) bool { return s.Runtime != "" || s.Neighbour })
	commit, modified, err := stored.Revision("")
	if err != nil {
		return err
	}
	var all []observation
	for i, s := range servers {
		fmt.Fprintf(os.Stderr, "%d of %d  %s\n", i+1, len(servers), s.Name)
		began := stored.Watch()
		more, err := observe(ctx, s, *out, *shares, []string{"poisson", bursty})
		all = append(all, more...)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
			continue
		}
		if *store != "" {
			made := began.Made(commit, modified, []string{"go", "run", "./bench/headroom"}, []string{"dyno/bench/headroom"})
			if err := keep(*store, more, made); err != nil {
				return err
			}
		}
	}
	table(stdout, all)
	return ctx.Err()
}
