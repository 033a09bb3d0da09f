// Command libraries is servers on widely used Go libraries, each with a known bottleneck that a
// request reaches only through the library: database/sql, bbolt, Badger, etcd's raft,
// golang.org/x/sync, gRPC, fasthttp, NATS, a producer with batches. A diagnosis must follow the
// request's wait to its end. One process is one of them:
//
//	libraries --list                            the servers, as JSON: each with its truth
//	libraries --server bbolt --seed 7           one server, its parameters drawn from the seed
//	libraries --server bbolt --inside pprof     the same, as a service without dyno's agent
//
// They are the servers of subjects/bounds for which a library is needed. Those that write wait for
// the disk of TMPDIR: with a folder in memory there, the same server shows what the disk costs.
//
// It is not for comparing the libraries. Each server owns the goroutines that it starts and ends
// them at SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"dyno/subjects/bounds/suite"
	"dyno/subjects/subject"
)

// servers is the list of the servers.
var servers = []suite.Entry{accounts, shelf, binder, cellar, replicas, flights, places, digests, stock, letters, seals, batches}

func main() {
	var addresses subject.Flags
	fs := flag.NewFlagSet("libraries", flag.ContinueOnError)
	addresses.Declare(fs)
	list := fs.Bool("list", false, "print the servers as JSON and end")
	server := fs.String("server", "", "`name` of the server in the list")
	seed := fs.Uint64("seed", 1, "`seed` of the server's parameters")
	inside := fs.String("inside", "agent", "`interface` on --debug: agent (and profiles), pprof (alone) or none (it is not opened)")
	subject.Parse(fs, os.Args[1:])
	if *list {
		if err := suite.Print(os.Stdout, servers); err != nil {
			end(err)
		}
		return
	}
	e, err := suite.Find(servers, *server)
	if err != nil {
		subject.Usage("libraries", err)
	}
	visible, err := subject.ParseInside(*inside)
	if err != nil {
		subject.Usage("libraries", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	d, start, err := suite.Drawn(e, *seed, nil)
	if err == nil {
		err = suite.Serve(ctx, e, start, addresses, visible, suite.Ready(d, *seed, visible), os.Stdout)
	}
	if err != nil {
		end(err)
	}
}

// end ends the process with the reason.
func end(err error) {
	fmt.Fprintf(os.Stderr, "libraries: %v\n", err)
	os.Exit(1)
}
