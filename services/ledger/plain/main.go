// Ledgersync-plain is the history client as one writes it on the first day: a loop that asks one server for one
// ledger after the other over JSON-RPC, takes the answer apart with encoding/json into maps, hashes it, and writes it
// to Pebble with one synced batch. It is step 0 of ledgersync's ladder, kept so that the seams of ledgersync can be
// shown to cost nothing.
//
// It is correct and complete at trust level L2: every ledger's header hash, transaction tree and link to the ledger
// above it are proved before it is stored, from --anchor downwards (or from what the server says of --to), it resumes
// where it stopped, and what is durable stays so when it is killed. What it does not do: several servers, several
// requests at once, WebSocket, signatures, validations. It starts no goroutines but those of net/http and Pebble, and
// of --debug and --windows where they are asked for.
//
//	go run ./services/ledger/plain sync --server http://127.0.0.1:5005 --from 1000 --to 1999 --data history
//	go run ./services/ledger/plain sync --data history        goes on with that
//	go run ./services/ledger/plain check --data history
//	go run ./services/ledger/plain export --data history
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dyno/agent"
	"dyno/parts/guard"
	"dyno/parts/progress"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit code: 0 when all is well, 1 when something failed, 2 for wrong flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	verb := "sync"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		verb, args = args[0], args[1:]
	}
	do, ok := map[string]func(context.Context, []string, io.Writer, io.Writer) error{"sync": syncCommand, "check": checkCommand, "export": exportCommand}[verb]
	if !ok {
		fmt.Fprintf(stderr, "ledgersync-plain: there is no command %q; there are sync, check and export\n", verb)
		return 2
	}
	err := do(ctx, args, stdout, stderr)
	var bad usage
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &bad):
		fmt.Fprintf(stderr, "ledgersync-plain %s: %v\n", verb, err)
		return 2
	case err != nil:
		fmt.Fprintf(stderr, "ledgersync-plain %s: %v\n", verb, err)
		return 1
	}
	return 0
}

// usage is a mistake of whoever called the program.
type usage struct{ error }

// parse reads flags; everything that is wrong with them is a usage error.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) error {
	flags.SetOutput(stderr)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usage{errors.New("see above")}
	case flags.NArg() > 0:
		return usage{fmt.Errorf("it takes flags only, not %q", flags.Arg(0))}
	}
	return nil
}

func syncCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("sync", flag.ContinueOnError)
	var a ask
	server := flags.String("server", "", "`URL` of a server's JSON-RPC")
	from := flags.Uint("from", 0, "lowest `ledger`")
	to := flags.Uint("to", 0, "highest `ledger`")
	flags.StringVar(&a.Anchor, "anchor", "", "`hash` of ledger --to, from somebody you trust; without it the server is believed in that")
	data := flags.String("data", "ledgersync-plain-data", "`folder` of the ledgers; made if it is missing")
	debug := flags.String("debug", "", "`address` of pprof and the agent; none without")
	asJSON := flags.Bool("json", false, "end with a line of JSON")
	windows := flags.Bool("windows", false, "print what is done in each 100 ms, for dyno, and nothing else")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	const maxIndex = 1<<32 - 1
	if *from > maxIndex || *to > maxIndex {
		return usage{fmt.Errorf("--from and --to: there is no ledger above %d", uint32(maxIndex))}
	}
	a.Server, a.From, a.To = *server, uint32(*from), uint32(*to)
	if *debug != "" {
		_, stop, err := serveDebug(*debug)
		if err != nil {
			return err
		}
		defer stop()
	}
	db, err := openStore(*data)
	if err != nil {
		return err
	}
	defer db.close()
	s, err := newSyncer(db, a)
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

// serveDebug shows the inside of the program until stop.
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
	web := &http.Server{Handler: g.Private().Wrap(mux, nil), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		web.Serve(l)
	}()
	return l.Addr().String(), func() {
		web.Close()
		<-done
	}, nil
}
