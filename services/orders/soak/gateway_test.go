package soak_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/orders"
	"dyno/services/orders/auth"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/soak"
)

var (
	reads  = flag.Int("reads", 20_000, "how many reads TestGateway makes of each assembly")
	seed   = flag.Uint64("seed", 0, "of what is random in TestGateway; 0: another each time")
	chosen = flag.String("assembly", "", "the assembly to soak instead of baseline and tuned; all: every variant of Assembly")
	kill   = flag.Bool("kill", true, "kill PostgreSQL and start it again half-way")
	set    []string
)

func init() {
	flag.Func("set", "a setting or seam of ordersd, such as lookup=single; repeatable", func(value string) error {
		set = append(set, value)
		return nil
	})
}

// The gateway answers correctly while PostgreSQL is up, down and up again.
func TestGateway(t *testing.T) {
	quicktest.Skip(t, "keeps PostgreSQL busy for some seconds, and kills it")
	*seed = servicetest.Seed(t, *seed)
	for _, v := range soaked() {
		t.Run(v.Label, func(t *testing.T) { soakGateway(t, v) })
	}
}

func soaked() []assembly.Variant {
	switch *chosen {
	case "":
		return []assembly.Variant{{Label: assembly.Baseline, Assembly: assembly.Baseline}, {Label: assembly.Tuned, Assembly: assembly.Tuned}}
	case "all":
		return orders.Assembly().Variants()
	}
	return []assembly.Variant{{Label: *chosen, Assembly: *chosen}}
}

func soakGateway(t *testing.T, v assembly.Variant) {
	pg := pgtest.Server(t, nil)
	keys := filepath.Join(t.TempDir(), auth.KeysFile)
	if err := auth.Create(keys); err != nil {
		t.Fatal(err)
	}
	url := start(t, v, "--dsn", pg.DSN(), "--jwt-keys", keys)
	c := soak.Config{URL: url, DSN: pg.DSN(), Reads: *reads, Seed: *seed, Log: t.Logf,
		Token: func(account string) string {
			token, err := auth.Issue(keys, "", auth.Claims{Account: account, Expiry: time.Now().Add(24 * time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			return token
		},
		Connections: connections,
	}
	if *kill {
		c.Restart = func(ctx context.Context) error { return errors.Join(pg.Kill(), pg.Restart(ctx)) }
	}
	summary, err := soak.Run(t.Context(), c)
	if summary != nil {
		t.Logf("\n%s", summary)
	}
	if err != nil {
		t.Fatalf("%s, -seed %d: %v", v.Label, *seed, err)
	}
}

// connections is the gateway's maximum number of connections to PostgreSQL: the defaults of 16 for
// reads, 4 for lists and 8 for submits, and 4 for followers of changes.
const connections = 16 + 4 + 8 + 4

// start runs ordersd in this process until the test ends, and returns its URL when it is ready.
func start(t *testing.T, v assembly.Variant, args ...string) (url string) {
	t.Helper()
	args = append([]string{"serve", "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "error",
		"--assembly", v.Assembly, "--set", "last_known=1000"}, args...)
	for name, value := range v.Set {
		args = append(args, "--set", name+"="+value)
	}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	out, stdout := io.Pipe()
	var stderr strings.Builder
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		code := daemon.Run(ctx, orders.Service(), args, os.LookupEnv, stdout, &stderr)
		stdout.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("ordersd exits with %d: %s", code, stderr.String())
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Listen string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("ordersd is not ready: %v", err)
	}
	return "http://" + ready.Listen
}
