// Command bounds is a suite of small HTTP servers, each with a known bottleneck, against which the
// lab's verdicts are checked. One process is one of them:
//
//	bounds --list                              the suite, as JSON: each server and its truth
//	bounds --server pool --seed 7              one server, its parameters drawn from the seed
//	bounds --server pool --inside pprof        the same, as a service without dyno's agent
//	bounds --server pool-sql --scale max_open=2     twice as many connections as the seed draws
//	bounds --hog 2                             two threads that only burn CPU: a neighbour
//
// The servers look like real code, and neither functions nor files are named after their
// bottleneck: a diagnosis must find it in their behaviour. Their parameters are drawn from ranges
// for which the truth holds on two cores shared by load and server, and on more.
//
// It is not for measuring capacity (burn has a known one), and its servers have no other use. Each
// server owns the goroutines that it starts and ends them at SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dyno/subjects/bounds/beside"
	"dyno/subjects/bounds/languages"
	"dyno/subjects/bounds/suite"
	"dyno/subjects/subject"
)

func main() {
	var addresses subject.Flags
	var o options
	fs := flag.NewFlagSet("bounds", flag.ContinueOnError)
	addresses.Declare(fs)
	fs.BoolVar(&o.list, "list", false, "print the suite as JSON and end")
	fs.StringVar(&o.server, "server", "", "`name` of the server in the list")
	fs.Uint64Var(&o.seed, "seed", 1, "`seed` of the server's parameters")
	fs.Func("scale", "`NAME=FACTOR` multiplies a parameter of the server; may be repeated", o.multiply)
	fs.StringVar(&o.inside, "inside", "agent", "`interface` on --debug: agent (and profiles), pprof (alone) or none (it is not opened)")
	fs.IntVar(&o.hog, "hog", 0, "burn CPU on this number of `threads` until SIGTERM or the end of stdin")
	fs.DurationVar(&o.backend, "backend", 0, "be the backend that another server calls, with answers that take this `time`")
	fs.BoolVar(&o.apart, "apart", false, "start the backend so that it is not a child of the calling process")
	fs.IntVar(&o.rounds, "rounds", 0, "`number` of hash rounds per answer of the backend")
	fs.IntVar(&o.atOnce, "at-once", 1, "`number` of concurrent answers of the backend")
	subject.Parse(fs, os.Args[1:])
	inside, err := o.check()
	if err != nil {
		subject.Usage("bounds", err)
	}
	if err := o.run(addresses, inside); err != nil {
		fmt.Fprintf(os.Stderr, "bounds: %v\n", err)
		os.Exit(1)
	}
}

// options is the command line: one of list, server, hog and backend.
type options struct {
	list    bool
	server  string
	seed    uint64
	scale   map[string]float64
	inside  string
	hog     int
	backend time.Duration
	atOnce  int
	rounds  int
	apart   bool
}

// multiply reads a factor of a parameter.
func (o *options) multiply(text string) error {
	name, factor, ok := strings.Cut(text, "=")
	times, err := strconv.ParseFloat(factor, 64)
	if !ok || err != nil || !(times > 0 && times <= maxFactor) {
		return fmt.Errorf("it takes NAME=FACTOR with a factor above 0, up to %d", maxFactor)
	}
	if o.scale == nil {
		o.scale = map[string]float64{}
	}
	o.scale[name] = times
	return nil
}

const maxFactor = 1000 // limit of --scale, to catch a typing error

const maxThreads = 1024 // limit of --hog, to catch a typing error

// check rejects invalid combinations and returns the interface on the debug address.
func (o options) check() (subject.Inside, error) {
	asked := 0
	for _, is := range []bool{o.list, o.server != "", o.hog != 0, o.backend != 0} {
		if is {
			asked++
		}
	}
	inside, err := subject.ParseInside(o.inside)
	switch {
	case asked != 1:
		return inside, fmt.Errorf("give one of --list, --server, --hog and --backend; --list names the servers")
	case err != nil:
		return inside, err
	case o.hog < 0 || o.hog > maxThreads:
		return inside, fmt.Errorf("--hog is %d; it must be 1 to %d", o.hog, maxThreads)
	case o.rounds < 0:
		return inside, fmt.Errorf("--rounds is %d; it must be 0 or more", o.rounds)
	case o.backend < 0 || o.atOnce < 1:
		return inside, fmt.Errorf("--backend is %v and --at-once %d; they must be above 0", o.backend, o.atOnce)
	case o.server != "":
		_, err = suite.Find(entries, o.server)
		return inside, err
	}
	return inside, nil
}

func (o options) run(addresses subject.Flags, inside subject.Inside) error {
	switch {
	case o.list:
		return suite.Print(os.Stdout, entries)
	case o.hog > 0:
		return beside.Hog(o.hog, os.Stdin, os.Stdout)
	case o.backend > 0 && o.apart:
		return beside.Apart()
	case o.backend > 0:
		work := func(query string) byte { return stretch([]byte(query), o.rounds)[0] }
		return beside.ServeBackend(o.backend, o.atOnce, work, os.Stdin, os.Stdout)
	}
	e, err := suite.Find(entries, o.server)
	if err != nil {
		return err
	}
	d, start, err := suite.Drawn(e, o.seed, o.scale)
	if err != nil {
		return err
	}
	if e.Runtime != "" {
		return languages.Become(e, d, addresses.Listen, suite.Ready(d, o.seed, subject.None))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return suite.Serve(ctx, e, start, addresses, inside, suite.Ready(d, o.seed, inside), os.Stdout)
}
