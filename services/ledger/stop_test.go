package ledger

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"
	"dyno/services/ledger/sim"
)

// Every request that serve received before it ends is answered.
func TestServeLosesNoRequest(t *testing.T) {
	s := serveChain(t, sim.Config{})
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, last, s.URL())...)
	for range quicktest.Of(1, 4) {
		p := ledgersync(t, serving(dir, "--lame-duck=1s")...)
		url, debug := ready(t, p)
		lameducktest.Run(t, lameducktest.Program{
			Dial: func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(url, "http://")) },
			Request: func(_, n int) string {
				question := fmt.Sprintf(`{"method":"ledger","params":[{"ledger_index":%d,"transactions":true,"binary":true}]}`, first+n%(last-first))
				return fmt.Sprintf("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(question), question)
			},
			Good:   func(r *http.Response) bool { return r.StatusCode == http.StatusOK },
			Ready:  lameducktest.Readyz(debug),
			Window: time.Second,
			Stop:   func() { ends(t, p) },
		})
	}
}

// A request with two lengths is refused.
func TestServeRefusesTwoLengths(t *testing.T) {
	s := serveChain(t, sim.Config{})
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, first+1, s.URL())...)
	p := ledgersync(t, serving(dir)...)
	url, _ := ready(t, p)
	lameducktest.Framing(t, "/", func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(url, "http://")) })
	ends(t, p)
}
