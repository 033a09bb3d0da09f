package arenapage_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// way is a TCP proxy that holds bytes back in each direction, as a network far away does: for a
// time that jumps about, and without changing their order.
type way struct {
	server        string
	listener      net.Listener
	tasks         sync.WaitGroup
	delay, jitter time.Duration // each way

	mu    sync.Mutex
	open  map[net.Conn]bool
	ended bool
}

// late is what came, and when it may go on.
type late struct {
	bytes []byte
	due   time.Time
}

// far starts a proxy before a server, which ends with the test, and returns its HOST:PORT.
func far(t *testing.T, server string, delay, jitter time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{server: server, listener: l, delay: delay, jitter: jitter, open: map[net.Conn]bool{}}
	w.tasks.Go(w.accept)
	t.Cleanup(func() {
		l.Close()
		w.end()
		w.tasks.Wait()
	})
	return l.Addr().String()
}

func (w *way) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for c := range w.open {
		c.Close()
	}
}

// add registers a connection; false: the test has ended.
func (w *way) add(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = true
	return !w.ended
}

func (w *way) accept() {
	for seed := uint64(1); ; seed++ {
		client, err := w.listener.Accept()
		if err != nil {
			return // the test has ended
		}
		w.tasks.Go(func() {
			defer client.Close()
			server, err := net.Dial("tcp", w.server)
			if err != nil {
				return
			}
			defer server.Close()
			if !w.add(client) || !w.add(server) {
				return
			}
			var both sync.WaitGroup
			both.Go(func() { w.copy(server, client, seed) })
			both.Go(func() { w.copy(client, server, seed<<32) })
			both.Wait()
		})
	}
}

// copy passes on what comes, each piece after its delay, until an end hangs up.
func (w *way) copy(to, from net.Conn, seed uint64) {
	pieces := make(chan late, 1024)
	var writing sync.WaitGroup
	writing.Go(func() {
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				from.Close()
			}
		}
		to.Close()
	})
	r := rand.New(rand.NewPCG(seed, seed))
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			jitter := time.Duration((2*r.Float64() - 1) * float64(w.jitter))
			pieces <- late{buffer[:n], time.Now().Add(w.delay + jitter)}
		}
		if err != nil {
			break
		}
	}
	close(pieces)
	writing.Wait()
}
