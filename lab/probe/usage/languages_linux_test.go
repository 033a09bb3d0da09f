package usage

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Servers in other languages. Each prints its port. It serves /compute, which never ends, /sleep,
// which takes an hour, and /call, which calls the server at the URL in its argument.
const (
	nodeServer = `
const http = require('http')
const server = http.createServer((req, res) => {
  if (req.url === '/compute') for (;;) ;
  if (req.url === '/sleep') setTimeout(() => res.end(), 3600e3)
  if (req.url === '/call') http.get(process.argv[1], (answer) => answer.pipe(res))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
	pythonServer = `
import sys, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        while self.path == '/compute': pass
        if self.path == '/sleep': time.sleep(3600)
        if self.path == '/call': urllib.request.urlopen(sys.argv[1])
server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()`
)

// The kernel shows what node and Python do for a request: sleep, call another server, or compute.
func TestOtherLanguages(t *testing.T) {
	for _, l := range []struct{ name, flag, server string }{{"node", "-e", nodeServer}, {"python3", "-c", pythonServer}} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			defer slow.Close()
			cmd := exec.Command(l.name, l.flag, l.server, slow.URL)
			cmd.Env = append(os.Environ(), "no_proxy=*")
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Skip(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			port, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			url := "http://" + net.JoinHostPort("127.0.0.1", strings.TrimSpace(port))
			ctx, cancel := context.WithCancel(t.Context())
			var asking sync.WaitGroup
			defer asking.Wait()
			defer cancel()
			ask := func(path string, requests int) {
				for range requests {
					asking.Go(func() {
						r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
						if resp, err := http.DefaultClient.Do(r); err == nil {
							resp.Body.Close()
						}
					})
				}
			}
			s := NewSampler(Here(), Processes{PID: cmd.Process.Pid, Calls: true})
			defer s.Close()
			last := s.Read(0)
			// until takes readings until the last ones are as expected.
			until := func(what string, expected func(before, after Reading) bool) {
				t.Helper()
				for begun := time.Now(); time.Since(begun) < 3*time.Minute; {
					before, at := last, time.Now()
					for range 2 * callsEvery {
						time.Sleep(50 * time.Millisecond)
						last = s.Read(before.At + int64(time.Since(at)))
					}
					if expected(before, last) {
						return
					}
				}
				t.Fatalf("not seen: %s; last %+v", what, last)
			}
			const requests = 4
			ask("/sleep", requests)
			until("sleeping", func(before, after Reading) bool {
				_, open, _ := before.Calls.Until(after.Calls)
				return open == 0 && Rate(before.Process, after.Process, before.At, after.At) < 0.5
			})
			ask("/call", requests)
			until(fmt.Sprintf("%d calls of %s", requests, slow.URL), func(before, after Reading) bool {
				waiting, open, to := before.Calls.Until(after.Calls)
				return waiting == requests && open == requests && "http://"+to == slow.URL
			})
			ask("/compute", 1)
			until("computing", func(before, after Reading) bool {
				return Rate(before.Thread, after.Thread, before.At, after.At) > 0.5
			})
		})
	}
}
