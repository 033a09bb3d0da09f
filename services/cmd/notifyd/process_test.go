package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		builds.Remove()
		os.Exit(code)
	}))
}

// notifyd is the program as users run it.
type notifyd struct {
	*process.Process
	t          *testing.T
	api, debug string // origins
}

// serve starts notifyd on a data folder and waits until it is ready.
func serve(t *testing.T, data string, args ...string) notifyd {
	t.Helper()
	p := processtest.Start(t, append([]string{builds.Program(t, "."), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data=" + data}, args...)...)
	return notifyd{p, t, "http://" + p.Ready()["listen"], "http://" + p.Ready()["debug"]}
}

// stop ends it in good order.
func (n notifyd) stop() {
	n.t.Helper()
	processtest.Stop(n.t, n.Process)
}

// output is the end of what it has printed.
func (n notifyd) output() string { return n.LogTail(1000) }

// client keeps no connections, so that a request fails when its server has ended.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask sends a request and returns the answer's status and body.
func ask(method, url, contentType, body string) (int, []byte, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", contentType)
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}
