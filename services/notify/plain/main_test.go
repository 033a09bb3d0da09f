package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"dyno/parts/guard"
	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"
	"dyno/services/notify/notifytest"
	"dyno/services/notify/notifytest/core"

	"go.uber.org/goleak"
)

// asProgram in the environment makes the test's binary the program.
const asProgram = "NOTIFY_PLAIN_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

func start(t testing.TB, dir string, l notifytest.Limits) notifytest.Program {
	tight := defaults
	tight.pending, tight.attempts, tight.timeout = l.Pending, l.Attempts, l.Timeout
	tight.backoff, tight.maxBackoff = l.Backoff, l.MaxBackoff
	s, err := newServer(dir, tight, l.AllowPrivate)
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{Origins: []string{l.AllowOrigin}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(g.Wrap(s.handler(), nil))
	return notifytest.Program{
		URL: web.URL,
		Stop: func() int {
			web.Close()
			return s.close()
		},
		Kill: func() {
			s.stop()
			s.workers.Wait() // nothing is settled from here on
			web.CloseClientConnections()
			web.Close()
			s.close()
		},
	}
}

func TestCore(t *testing.T) { core.Test(t, start) }

// Every notice that the program received before it ends is acknowledged. The program is this test's
// binary in a process of its own.
func TestLosesNoRequest(t *testing.T) {
	data := t.TempDir()
	for range quicktest.Of(1, 4) {
		cmd := exec.Command(os.Args[0], "--listen=127.0.0.1:0", "--lame-duck=1s", "--data="+data)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var ready struct{ Listen, Debug string }
		if err := json.NewDecoder(out).Decode(&ready); err != nil {
			cmd.Wait()
			t.Fatal(err)
		}
		lameducktest.Run(t, lameducktest.Program{
			Dial: func() (net.Conn, error) { return net.Dial("tcp", ready.Listen) },
			Request: func(connection, n int) string {
				notice := fmt.Sprintf(`{"type":"a.b","key":"k%d","payload":{"n":%d}}`, connection, n)
				return fmt.Sprintf("POST /v1/notices HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(notice), notice)
			},
			Good:   func(r *http.Response) bool { return r.StatusCode == http.StatusAccepted },
			Ready:  lameducktest.Readyz("http://" + ready.Debug),
			Window: time.Second,
			Stop: func() {
				cmd.Process.Signal(syscall.SIGTERM)
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			},
		})
	}
}
