package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dyno/parts/daemon"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/services/orders/auth"
	"dyno/services/orders/pgtest"
)

// ordersd is the program as a process of its own.
type ordersd struct {
	*process.Process
	t     *testing.T
	url   string
	token string
}

// startProcess starts ordersd with a PostgreSQL of its own and returns when it is ready.
func startProcess(t *testing.T, program, data, bin string) ordersd {
	t.Helper()
	p := processtest.Start(t, program, "serve", "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", data, "--postgres-bin", bin, "--log-level", "warn")
	token, err := auth.Issue(filepath.Join(data, auth.KeysFile), "", auth.Claims{Account: "A1", Expiry: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return ordersd{p, t, "http://" + p.Ready()["listen"], token}
}

// receipt is what a submission is answered with; the zero one is of one that was not acknowledged.
type receipt struct {
	UID       int64
	Duplicate bool
}

func (p ordersd) submit(id string) (r receipt) {
	body := fmt.Sprintf(`{"client_order_id":%q,"symbol":"ACME","side":"BUY","price":"1.25","qty":"10"}`, id)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/api/v1/submit", strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return receipt{}
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return receipt{}
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 || json.NewDecoder(resp.Body).Decode(&r) != nil {
		return receipt{}
	}
	return r
}

// What was acknowledged is there after kill -9 of ordersd, which takes its PostgreSQL with it.
func TestKilled(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL three times")
	bin := pgtest.Bin(t)
	program, err := process.Build(t.Context(), "", "dyno/services/cmd/ordersd", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(pgtest.Folder(t), "data")
	acknowledged := map[string]bool{}
	for round := range 3 {
		p := startProcess(t, program, data, bin)
		for id := range acknowledged {
			if again := p.submit(id); !again.Duplicate {
				t.Fatalf("round %d: order %s was acknowledged and is lost", round, id)
			}
		}
		var mu sync.Mutex
		var senders sync.WaitGroup
		enough := make(chan struct{})
		for s := range 4 {
			senders.Go(func() {
				for i := range 1000 {
					id := fmt.Sprintf("r%d-s%d-%d", round, s, i)
					if p.submit(id).UID == 0 {
						return // it was killed
					}
					mu.Lock()
					acknowledged[id] = true
					if len(acknowledged) == 40*(round+1) {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		syscall.Kill(p.PID(), syscall.SIGKILL) // it alone: its PostgreSQL ends with it
		<-p.Exited()
		senders.Wait()
		http.DefaultClient.CloseIdleConnections()
	}
	if len(acknowledged) < 120 {
		t.Errorf("only %d were acknowledged", len(acknowledged))
	}
}

// A mistake on the command line is reported immediately, in one line, with exit code 2.
func TestUsage(t *testing.T) {
	for args, says := range map[string]string{
		"--dsn=":                                "--dsn is empty",
		"--dsn=a --dsn=b --replica=c":           "--replica can only stand beside a single --dsn",
		"--set cache=terminal":                  `unknown seam or setting "cache"`,
		"--dsn=a --jwt-keys=/nowhere/jwks.json": "--jwt-keys",
		"--dsn=postgres://%zz":                  "postgres://",
		"--jwt-keys=process_test.go --dsn=postgres://127.0.0.1:1/x": "process_test.go",
		"--set lookup=bach": "there are single, batch",
		"--set foreign=500": "404",
		"--assembly fast":   "there are baseline",
	} {
		var stdout, stderr bytes.Buffer
		full := append([]string{"serve", "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", t.TempDir()}, strings.Fields(args)...)
		code := daemon.Run(context.Background(), Service(), full, os.LookupEnv, &stdout, &stderr)
		lines := strings.Count(strings.TrimSpace(stderr.String()), "\n")
		if code != 2 || !strings.Contains(stderr.String(), says) || lines > 0 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d: %s, want %q", args, code, stderr.String(), says)
		}
	}
}
