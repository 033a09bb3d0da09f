// Ledgersync-plain is the history client as one writes it on the first day: a loop that asks one
// server for one ledger after the other over JSON-RPC, decodes the answer with encoding/json into
// maps, hashes it, and writes it to Pebble with one synced batch. It is step 0 of ledgersync's
// ladder and passes the part of ledgersync's black-box suite that the ladder's load needs
// (ledgertest.Core), so that the cost of ledgersync's seams can be measured against it.
//
// It is correct and complete at trust level L2: every ledger's header hash, transaction tree and
// link to the ledger above it are proved before it is stored, from --anchor downwards (or from what
// the server says of --to), it resumes where it stopped, and what is durable stays so when it is
// killed. It is not for several servers, concurrent requests, WebSocket, signatures or validations.
// It starts no goroutines but those of net/http and Pebble, and of --debug and --windows where they
// are asked for.
//
//	go run ./services/ledger/plain sync --server http://127.0.0.1:5005 --from 1000 --to 1999
//	go run ./services/ledger/plain sync      goes on with that
//	go run ./services/ledger/plain export    prints what is stored as servers answer it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/parts/doors"
	"dyno/parts/guard"
	"dyno/parts/progress"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit code: 0 for success, 1 for a failure, 2 for wrong flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	verb := "sync"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("ledgersync-plain "+verb, flag.ContinueOnError)
	flags.SetOutput(stderr)
	data := flags.String("data", "ledgersync-plain-data", "`folder` of the ledgers; made if it is missing")
	var do func(context.Context, *store, io.Writer) error
	switch verb {
	case "sync":
		do = syncCommand(flags)
	case "export":
		do = export
	default:
		fmt.Fprintf(stderr, "ledgersync-plain: there is no command %q; there are sync and export\n", verb)
		return 2
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // Parse has said why
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "ledgersync-plain %s takes flags only, not %q\n", verb, flags.Args())
		return 2
	}
	_, err := os.Stat(*data)
	if err == nil || verb == "sync" { // which makes the folder
		db, failed := openStore(*data)
		if err = failed; err == nil {
			err = errors.Join(do(ctx, db, stdout), db.close())
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "ledgersync-plain %s: %v\n", verb, err)
		if errors.As(err, new(usageError)) {
			return 2
		}
		return 1
	}
	return 0
}

// usageError is a mistake in the flags.
type usageError string

func (e usageError) Error() string { return string(e) }

// syncCommand declares the flags of sync and returns the command.
func syncCommand(flags *flag.FlagSet) func(context.Context, *store, io.Writer) error {
	server := flags.String("server", "", "`URL` of a server's JSON-RPC")
	from := flags.Uint("from", 0, "lowest `ledger`")
	to := flags.Uint("to", 0, "highest `ledger`")
	anchor := flags.String("anchor", "", "`hash` of ledger --to, from a source that you trust; without it the server is believed in that")
	debug := flags.String("debug", "", "`address` of pprof and the agent; none without")
	asJSON := flags.Bool("json", false, "end with a line of JSON")
	windows := flags.Bool("windows", false, "print what is done in each 100 ms, for dyno, and nothing else")
	return func(ctx context.Context, db *store, stdout io.Writer) error {
		if *debug != "" {
			_, stop, err := serveDebug(*debug)
			if err != nil {
				return err
			}
			defer stop()
		}
		if max(*from, *to) > math.MaxUint32 {
			return usageError(fmt.Sprintf("--from and --to: there is no ledger above %d", uint32(math.MaxUint32)))
		}
		s, err := newSyncer(db, ask{*server, uint32(*from), uint32(*to), *anchor})
		if err != nil {
			return err
		}
		if *windows {
			s.watch = progress.New(stdout)
			err = s.run(ctx)
			return errors.Join(err, s.watch.Close(err))
		}
		err = s.run(ctx)
		result := s.result()
		if *asJSON {
			return errors.Join(err, json.NewEncoder(stdout).Encode(result))
		}
		fmt.Fprintf(stdout, "%d ledgers in %.1f s, %.0f/s\n", result.Ledgers, result.Elapsed, result.Rate)
		return err
	}
}

// export prints what is stored.
func export(ctx context.Context, db *store, stdout io.Writer) error {
	out := bufio.NewWriter(stdout)
	err := db.each(func(index uint32, l ledger) error {
		line, err := encode(l, index)
		if err != nil {
			return err
		}
		out.Write(append(line, '\n'))
		return ctx.Err()
	})
	return errors.Join(err, out.Flush())
}

// serveDebug serves pprof and the agent until stop.
func serveDebug(address string) (bound string, stop func(), err error) {
	g, err := guard.New(guard.Options{Listen: []string{address}})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	mux.Handle("/debug/dyno/", agent.New(agent.Config{Service: "ledgersync-plain"}))
	web := &http.Server{Handler: g.Private().Wrap(mux, nil), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(doors.Private("debug", nil).Limit(l)) })
	return l.Addr().String(), func() {
		web.Close()
		serving.Wait()
	}, nil
}
