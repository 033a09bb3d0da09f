package orders

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"dyno/parts/daemon"
	"dyno/services/orders/ordertest"
	"dyno/services/orders/postgres/pgtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	pgtest.Main(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // sleeps for up to 10 s before it sees that it is to end
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))    // one for the whole process
}

// assembly is one that the suites run on: a name and what is set on top of it.
type assembly struct {
	name string
	set  map[string]string
}

// assemblies are both ends of the ladder, its steps, and each other implementation of a seam on the end that it is
// furthest from.
func assemblies() map[string]assembly {
	all := map[string]assembly{}
	a := Assembly()
	for _, name := range a.Names() {
		all[name] = assembly{name: name}
	}
	delete(all, a.Ladder[len(a.Ladder)-1].Name) // that is tuned
	tuned, err := a.Resolve(daemon.Tuned, nil)
	if err != nil {
		panic(err)
	}
	onLadder := map[string]bool{}
	for _, step := range a.Ladder {
		for seam, impl := range step.Change {
			onLadder[seam+"="+impl] = true
		}
	}
	for _, seam := range a.Seams {
		for _, impl := range seam.Impls[1:] {
			if label := seam.Name + "=" + impl.Name; !onLadder[label] && tuned.Get(seam.Name) != impl.Name {
				// as many workers as requests wait in the suite: fewer, and one kind holds up the other
				all["tuned,"+label] = assembly{daemon.Tuned, map[string]string{seam.Name: impl.Name, "workers": "64"}}
			}
		}
	}
	all["tuned,filter=true"] = assembly{daemon.Tuned, map[string]string{"filter": "true"}}
	all["tuned,server=nethttp"] = assembly{daemon.Tuned, map[string]string{"server": "nethttp"}}
	all["tuned,driver=sql"] = assembly{daemon.Tuned, map[string]string{"driver": "sql"}}
	return all
}

// starter starts ordersd in this process.
func starter(a assembly) ordertest.Start {
	return func(t testing.TB, e ordertest.Env) ordertest.Program {
		t.Helper()
		args := []string{"serve", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "error",
			"--dsn", e.DSN, "--jwt-keys", e.Keys, "--jwt-audience", e.Audience, "--jwt-issuer", e.Issuer, "--read-timeout", e.Client.String(), "--drain-timeout", e.Drain.String(),
			"--assembly", a.name}
		set := map[string]string{"foreign": e.Foreign, "leeway": e.Leeway.String(), "keys_reload": e.Reload.String(), "timeout": e.Timeout.String(), "last_known": "1000",
			"reads": "4", "lists": "2", "writes": "2", "batches": "2"} // many run at once
		maps.Copy(set, a.set)
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
		if code := <-ended; code != 0 {
			t.Errorf("ordersd exits with %d: %s", code, stderr.String())
		}
	}}
}

func TestSuite(t *testing.T) {
	for label, a := range assemblies() {
		if testing.Short() && label != daemon.Baseline && label != daemon.Tuned {
			continue // the two ends of the ladder
		}
		t.Run(label, func(t *testing.T) {
			ordertest.Core(t, starter(a))
			ordertest.Full(t, starter(a))
		})
	}
}

// Who is slow to ask or to read is cut off by either server.
func TestSlowClients(t *testing.T) {
	for _, name := range []string{daemon.Baseline, daemon.Tuned} {
		t.Run(name, func(t *testing.T) { ordertest.SlowClients(t, starter(assembly{name: name})) })
	}
}

func TestAssembly(t *testing.T) {
	if err := Assembly().Check(); err != nil {
		t.Fatal(err)
	}
	for name := range assemblies() {
		t.Log(name)
	}
	_, err := pick("counters", counterKinds, "pakced")
	if want := "seam counters: nothing is called \"pakced\"; there are packed, padded"; fmt.Sprint(err) != want {
		t.Error(err)
	}
}
