package orders

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/quicktest"
	"dyno/services/orders/ordertest"
	"dyno/services/orders/ordertest/core"
	"dyno/services/orders/ordertest/full"
	"dyno/services/orders/pgtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // they wait for time-outs and for the database more than they compute
	pgtest.Main(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // sleeps for up to 10 s before it sees that it is to end
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))    // one for the whole process
}

// variants are all that the suites run on.
func variants() []assembly.Variant {
	all := Assembly().Variants()
	for _, set := range []string{"web=nethttp", "driver=sql"} { // ends of the ladder that tuned can do without
		name, value, _ := strings.Cut(set, "=")
		all = append(all, assembly.Variant{Label: assembly.Tuned + "," + set, Assembly: assembly.Tuned, Set: map[string]string{name: value}})
	}
	return all
}

// starter starts ordersd in this process.
func starter(v assembly.Variant) ordertest.Start { return starterBehind(v, nil) }

// starterBehind starts it behind a PgBouncer with these settings; nil: before PostgreSQL itself.
func starterBehind(v assembly.Variant, pooler map[string]string) ordertest.Start {
	return func(t testing.TB, e ordertest.Env) ordertest.Program {
		t.Helper()
		dsns := []string{pgtest.Role(t, e.DSN, "gateway"), e.DSN}
		if pooler != nil {
			dsns = pgtest.PgBouncer(t, pooler, dsns...)
		}
		args := []string{"serve", "--lame-duck", e.LameDuck.String(), "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "error",
			"--dsn", dsns[0], "--owner-dsn", dsns[1], "--jwt-keys", e.Keys, "--jwt-audience", e.Audience, "--jwt-issuer", e.Issuer, "--read-timeout", e.Client.String(), "--drain-timeout", e.Drain.String(),
			"--allow-origin", e.AllowOrigin, "--assembly", v.Assembly}
		set := map[string]string{"foreign": e.Foreign, "leeway": e.Leeway.String(), "keys_reload": e.Reload.String(), "timeout": e.Timeout.String(), "last_known": "1000",
			"reads": "4", "lists": "2", "writes": "2", "batches": "2"} // many run concurrently
		maps.Copy(set, v.Set)
		for _, name := range slices.Sorted(maps.Keys(set)) {
			args = append(args, "--set", name+"="+set[name])
		}
		return launch(t, args)
	}
}

// launch runs ordersd until Stop and returns when it is ready.
func launch(t testing.TB, args []string) ordertest.Program {
	t.Helper()
	out, stdout := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	var stderr strings.Builder
	ended := make(chan int, 1)
	go func() {
		code := daemon.Run(ctx, Service(), args, os.LookupEnv, stdout, &stderr)
		stdout.Close()
		ended <- code
	}()
	var ready struct{ Listen, Debug string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		stop()
		<-ended
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return ordertest.Program{URL: "http://" + ready.Listen, Debug: "http://" + ready.Debug, Stop: func() {
		stop()
		if code := <-ended; code != 0 || strings.Contains(stderr.String(), "panic:") {
			t.Errorf("ordersd exits with %d: %s", code, stderr.String())
		}
	}}
}

func TestSuite(t *testing.T) {
	for _, v := range variants() {
		if quicktest.On() && v.Label != assembly.Tuned {
			continue // the end of the ladder
		}
		t.Run(v.Label, func(t *testing.T) {
			t.Parallel()
			full.Test(t, starter(v))
		})
	}
}

// A pooler between ordersd and PostgreSQL changes no answer, whether it pools sessions or
// transactions, of which it has fewer than ordersd has connections.
func TestBehindPgBouncer(t *testing.T) {
	for mode, size := range map[string]string{"session": "20", "transaction": "3"} {
		for _, v := range variants() {
			if quicktest.On() && v.Label != assembly.Tuned {
				continue // the end of the ladder
			}
			t.Run(mode+"/"+v.Label, func(t *testing.T) {
				start := starterBehind(v, map[string]string{"pool_mode": mode, "default_pool_size": size})
				core.Together(t, ordertest.Scope{Start: start, Formats: map[string]func(ordertest.Message) string{ordertest.TypeJSON: ordertest.Message.JSON}})
			})
		}
	}
}

// Each server answers what it has received when it has to stop.
func TestStops(t *testing.T) {
	for _, web := range []string{"nethttp", "fasthttp", "loop"} {
		if !quicktest.All() && web != "loop" {
			continue // the tuned one's
		}
		t.Run(web, func(t *testing.T) {
			full.Stops(t, starter(assembly.Variant{Assembly: assembly.Tuned, Set: map[string]string{"web": web}}))
		})
	}
}

// Who is slow to ask or to read is cut off by either server.
func TestSlowClients(t *testing.T) {
	for _, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full.SlowSenders(t, starter(assembly.Variant{Assembly: name}))
			full.SlowReaders(t, starter(assembly.Variant{Assembly: name}))
		})
	}
}

func TestAssembly(t *testing.T) {
	if err := Assembly().Check(); err != nil {
		t.Fatal(err)
	}
}

// The settings that users have written down keep their names, defaults and bounds.
func TestAssembliesStay(t *testing.T) {
	want, err := os.ReadFile("testdata/assemblies.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Service().Assembly.Print(&got, Service().Name, true); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%v; assemblies --json prints\n%s", err, &got)
	}
}
